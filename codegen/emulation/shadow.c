/* Which thread touched a word last: races, reads of what was never written, accesses outside of every array.

A time stands for a stretch between two synchronisations of the block or of a warp. Two accesses of one block are in
order if a barrier of the block, or `bar.warp.sync` of both their lanes, came between them (vector clocks by warp);
accesses of two blocks never are. A cell remembers, of each kind of access, the last one and one of another thread (so
that no thread's own access hides somebody else's), and one of each kind from earlier blocks. What may be missed: a lane
that a `bar.warp.sync` of others leaves out, behind two accesses of those others. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

enum { LOAD, STORE, ATOMIC };

static int32_t thread_of(uint64_t record) { return (int32_t)(record >> 16 & 1023); }

int shadow_begin(struct machine *m) {
    m->now = 0;
    m->seen = calloc(MAX_THREADS, sizeof *m->seen);
    return m->seen != 0;
}

void shadow_end(struct machine *m) { free(m->seen), free(m->block_times); }

int shadow_block(struct machine *m) {
    if (m->block_time_count == m->block_time_room) {
        m->block_time_room = m->block_time_room ? 2 * m->block_time_room : 1024;
        uint64_t *made = realloc(m->block_times, (size_t)m->block_time_room * 2 * sizeof *made);
        if (!made) return 0;
        m->block_times = made;
    }
    m->block_time = m->barrier_time = ++m->now;
    m->block_times[2 * m->block_time_count] = m->now;
    m->block_times[2 * m->block_time_count++ + 1] = (uint64_t)m->block;
    return 1;
}

void shadow_barrier(struct machine *m) { m->barrier_time = ++m->now; }

/* All that one of the lanes knows, all of them know from now on, and everything of each other until now. */
void shadow_warp(struct machine *m, int32_t first, uint32_t lanes) {
    uint64_t joined[LANES] = {0}, time = ++m->now;
    for (int32_t lane = 0; lane < LANES; lane++) {
        if (!(lanes >> lane & 1)) continue;
        for (int32_t of = 0; of < LANES; of++)
            if (m->seen[first + lane][of] > joined[of]) joined[of] = m->seen[first + lane][of];
    }
    for (int32_t lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) joined[lane] = time;
    for (int32_t lane = 0; lane < LANES; lane++)
        if (lanes >> lane & 1) memcpy(m->seen[first + lane], joined, sizeof joined);
}

static int64_t block_of(const struct machine *m, uint64_t record) {
    uint64_t time = record >> 26;
    int64_t low = 0, high = m->block_time_count - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (m->block_times[2 * middle] <= time) low = middle;
        else high = middle - 1;
    }
    return (int64_t)m->block_times[2 * low + 1];
}

/* Whether an earlier access and one of thread t now may have come the other way round. */
static INLINE int unordered(const struct machine *m, uint64_t record, int32_t t, int shared) {
    uint64_t time = record >> 26;
    if (!record) return 0;
    if (time < m->block_time) return !shared; /* another block; its shared memory is not ours */
    int32_t other = thread_of(record);
    if (other == t || time < m->barrier_time) return 0;
    return other / LANES != t / LANES || time >= m->seen[t][other % LANES];
}

static void race(struct machine *m, uint64_t record, int32_t t, int32_t site,
                                                 const struct region *r, int32_t region, int64_t offset) {
    report(m, r->shared ? FAULT_SHARED_RACE : FAULT_GLOBAL_RACE, region, offset, block_of(m, record),
           thread_of(record), (int32_t)(record & 0xFFFF), m->block, t, site);
}

/* `other` holds an access of another warp rather than one of another lane: a warp puts its own in order more often. */
static INLINE void keep(struct machine *m, uint64_t *last, uint64_t *other, uint64_t *earlier, uint64_t made) {
    if (*last && *last >> 26 < m->block_time) {
        *earlier = *last;
    } else if (other && *last && thread_of(*last) != thread_of(made)) {
        int32_t warp = thread_of(made) / LANES;
        int far = *other >> 26 >= m->barrier_time && thread_of(*other) / LANES != warp;
        if (!far || thread_of(*last) / LANES != warp) {
            if (*other && *other >> 26 < m->block_time) *earlier = *other;
            *other = *last;
        }
    }
    *last = made;
}

/* Whether nothing is remembered that an access of a kind could race with, as for nearly all. */
static INLINE int is_quiet(const struct cell *c, int32_t kind) {
    uint64_t any = c->write | c->earlier[STORE];
    if (kind != ATOMIC) any |= c->atomic | c->atomic_other | c->earlier[ATOMIC];
    if (kind != LOAD) any |= c->read | c->read_other | c->earlier[LOAD];
    return any == 0;
}

static __attribute__((noinline)) void compare(struct machine *m, const struct cell *c, int32_t t, int32_t site,
                                              int32_t kind, int32_t region, int64_t offset) {
    const struct region *r = &m->launch->regions[region];
    uint64_t against[8] = {c->write, c->earlier[STORE]};
    int count = 2;
    if (kind != ATOMIC) {
        against[count++] = c->atomic, against[count++] = c->atomic_other, against[count++] = c->earlier[ATOMIC];
    }
    if (kind != LOAD) {
        against[count++] = c->read, against[count++] = c->read_other, against[count++] = c->earlier[LOAD];
    }
    for (int i = 0; i < count; i++)
        if (unordered(m, against[i], t, r->shared != 0)) {
            race(m, against[i], t, site, r, region, offset);
            return;
        }
}

void shadow_touch(struct machine *m, struct cell *c, int32_t t, int32_t site, int32_t kind, int32_t region,
                  int64_t offset) {
    uint64_t made = m->now << 26 | (uint64_t)t << 16 | (uint64_t)site;
    if (!is_quiet(c, kind)) compare(m, c, t, site, kind, region, offset);
    if (kind != STORE && c->write >> 26 < m->block_time && c->atomic >> 26 < m->block_time &&
        m->launch->regions[region].shared)
        report(m, FAULT_UNINITIALISED, region, offset, m->block, t, site, -1, -1, 0);
    if (kind == LOAD) keep(m, &c->read, &c->read_other, &c->earlier[LOAD], made);
    else if (kind == STORE) keep(m, &c->write, 0, &c->earlier[STORE], made);
    else keep(m, &c->atomic, &c->atomic_other, &c->earlier[ATOMIC], made);
}

static int32_t region_of(const struct machine *m, const uint8_t *address) {
    const struct launch *l = m->launch;
    for (int32_t i = 0; i < l->region_count; i++)
        if (address >= l->regions[i].base && address < l->regions[i].base + l->regions[i].bytes) return i;
    return -1;
}

/* An access that is not simply inside of one cell of its array. */
void *check_slowly(struct machine *m, int64_t t, uint8_t *address, int64_t bytes, int64_t align, int32_t site,
                   int32_t kind, int32_t region) {
    if (region < 0) {
        if (address >= m->frame && address < m->frame + m->launch->frame_bytes) return address;
        region = region_of(m, address);
        if (region < 0) {
            report(m, FAULT_OUT_OF_BOUNDS, -1, (int64_t)(intptr_t)address, m->block, (int32_t)t, site, -1, -1, 0);
            return memset(m->nowhere, 0, sizeof m->nowhere);
        }
    }
    const struct region *r = &m->launch->regions[region];
    int64_t offset = address - r->base;
    if (offset < 0 || offset + bytes > r->bytes) {
        report(m, FAULT_OUT_OF_BOUNDS, region, offset, m->block, (int32_t)t, site, -1, -1, 0);
        return memset(m->nowhere, 0, sizeof m->nowhere);
    }
    if ((uintptr_t)address & (uintptr_t)(align - 1))
        report(m, FAULT_MISALIGNED, region, offset, m->block, (int32_t)t, site, -1, -1, 0);
    if (r->cells)
        for (int64_t i = offset >> r->granule; i <= (offset + bytes - 1) >> r->granule; i++)
            shadow_touch(m, &r->cells[i], (int32_t)t, site, kind, region, offset);
    return address;
}
