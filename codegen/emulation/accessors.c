/* What the kernel's own code asks of the machine: made part of it, so that nothing of this is a call. */
#include "machine.h"

INLINE uint8_t *emu_frame(struct machine *m) { return m->frame; }
INLINE uint8_t *emu_shared(struct machine *m) { return m->shared; }
INLINE int32_t *emu_states(struct machine *m) { return m->states; }
INLINE const uint64_t *emu_arguments(struct machine *m) { return m->arguments; }
INLINE int64_t emu_patience(struct machine *m) { return m->launch->patience; }
INLINE int64_t emu_thread(struct machine *m, int64_t place) { return m->in_order ? place : m->order[place]; }
INLINE int32_t emu_tid(struct machine *m, int64_t t, int32_t axis) { return m->tid[axis][t]; }
INLINE int32_t emu_ctaid(struct machine *m, int32_t axis) { return m->ctaid[axis]; }
INLINE int32_t emu_ntid(struct machine *m, int32_t axis) { return m->launch->block[axis]; }
INLINE int32_t emu_nctaid(struct machine *m, int32_t axis) { return (int32_t)m->launch->grid[axis]; }
INLINE int64_t emu_shared_bytes(struct machine *m) { return m->launch->shared_bytes; }

INLINE void emu_offer(struct machine *m, int64_t t, uint64_t value, int32_t by, int32_t clamp, int32_t mask) {
    m->value[t] = value;
    m->by[t] = by;
    m->clamp[t] = clamp;
    m->mask[t] = (uint32_t)mask;
}
INLINE uint64_t emu_result(struct machine *m, int64_t t) { return m->result[t]; }
INLINE int32_t emu_flag(struct machine *m, int64_t t) { return m->flag[t]; }

INLINE void emu_event(struct machine *m, int32_t site, uint64_t address) {
    int64_t place = m->event_count;
    if (__builtin_expect(place == m->event_room, 0)) place = more_events(m);
    m->sites[place] = (uint16_t)site;
    m->addresses[place] = address;
    m->event_count = place + 1;
}

/* Thread t goes on: the next events are its own. */
INLINE void emu_segment(struct machine *m, int64_t t) {
    int64_t place = m->segment_count;
    if (__builtin_expect(place == m->segment_room, 0)) place = more_segments(m);
    m->segments[place].start = m->event_count;
    m->segments[place].thread = (int32_t)t;
    m->segment_count = place + 1;
}

/* The address to use: where the access is outside of everything, one that is harmless. `region`: -1 when unknown. */
INLINE void *emu_check(struct machine *m, int64_t t, uint8_t *address, int64_t bytes, int64_t align, int32_t site,
                       int32_t kind, int32_t region) {
    if (region >= 0) {
        const struct region *r = &m->regions[region];
        uint64_t offset = (uint64_t)(address - r->base), room = (uint64_t)r->bytes;
        if (__builtin_expect(offset < room && room - offset >= (uint64_t)bytes &&
                                 !((uintptr_t)address & (uintptr_t)(align - 1)), 1)) {
            if (!r->cells) return address;
            uint64_t first = offset >> r->granule;
            if (__builtin_expect(first == (offset + (uint64_t)bytes - 1) >> r->granule, 1)) {
                shadow_touch(m, &r->cells[first], (int32_t)t, site, kind, region, (int64_t)offset);
                return address;
            }
        }
    }
    return check_slowly(m, t, address, bytes, align, site, kind, region);
}

/* Integer powers, which the mathematical library here does not have. */
INLINE double emu_powi(double x, int32_t n) {
    double made = 1;
    for (uint32_t left = n < 0 ? 0u - (uint32_t)n : (uint32_t)n; left; left >>= 1, x *= x)
        if (left & 1) made *= x;
    return n < 0 ? 1 / made : made;
}
INLINE float emu_powif(float x, int32_t n) { return (float)emu_powi(x, n); }
