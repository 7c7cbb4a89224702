/* Runs the blocks of a grid one after the other: threads in turns, from point to point. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

#define PATTERN 0x5A      /* what shared memory holds before anything is written to it */
#define IDLE_ROUNDS 20000 /* rounds in which all that run only wait for memory to change */

static int is_fatal(int32_t kind) { return kind >= FAULT_DIVERGENT_BARRIER; }

void report(struct machine *m, int32_t kind, int32_t region, int64_t offset, int64_t block, int32_t thread,
            int32_t place, int64_t other_block, int32_t other_thread, int32_t other_place) {
    struct launch *l = m->launch;
    if (is_fatal(kind)) l->fatal = 1;
    for (int64_t i = 0; i < l->fault_count; i++) {
        struct fault *f = &l->faults[i];
        if (f->kind == kind && f->region == region && f->place[0] == place && f->place[1] == other_place) {
            f->count++;
            return;
        }
    }
    if (l->fault_count == MAX_FAULTS) { /* what ends the run is told in any case */
        if (!is_fatal(kind)) return;
        l->fault_count--;
    }
    l->faults[l->fault_count++] = (struct fault){
        kind, region, offset, {block, other_block}, {thread, other_thread}, {place, other_place}, 1};
}

static void at_threads(struct machine *m, int32_t kind, int32_t one, int32_t other) {
    report(m, kind, -1, 0, m->block, one, m->states[one], other < 0 ? -1 : m->block, other,
           other < 0 ? 0 : m->states[other]);
}

/* Threads first to last-1 run until each waits or ends. Returns whether one did more than to yield. */
static int advance(struct machine *m, int32_t first, int32_t last) {
    int32_t *states = m->states;
    if (m->launch->strict) {
        emu_lanes(m, first, last);
    } else {
        for (int32_t a = first, b; a < last; a = b) {
            int32_t state = states[a];
            for (b = a + 1; b < last && states[b] == state; b++) {}
            if ((state & 7) == RUNS) emu_phase(m, state >> 3, a, b);
        }
    }
    int more = 0;
    for (int32_t t = first; t < last; t++) {
        int32_t kind = states[t] & 7;
        if (kind == EXHAUSTED) at_threads(m, FAULT_ENDLESS, t, -1);
        if (kind == YIELDED) states[t] = states[t] >> 3 << 3 | RUNS;
        else more = 1;
    }
    return more;
}

static int anyone_runs(const struct machine *m, int32_t first, int32_t last) {
    int found = 0;
    for (int32_t t = first; t < last; t++) found |= (m->states[t] & 7) == RUNS;
    return found;
}

/* Nobody runs: whether all have ended. Lets them go on behind a barrier, or says why they can not. */
static int all_ended(struct machine *m) {
    int32_t ended = -1, barrier = -1, other = -1, warp = -1;
    for (int32_t t = 0; t < m->threads; t++) {
        int32_t kind = m->states[t] & 7;
        if (kind == ENDED && ended < 0) ended = t;
        if (kind == AT_WARP && warp < 0) warp = t;
        if (kind == AT_BLOCK && barrier < 0) barrier = t;
        if (kind == AT_BLOCK && m->states[t] != m->states[barrier] && other < 0) other = t;
    }
    if (warp >= 0) {
        for (int32_t t = warp / LANES * LANES; t < m->threads; t++) /* whom it waits for: a lane of its mask */
            if (t / LANES == warp / LANES && m->states[t] != m->states[warp] && (m->states[t] & 7) != ENDED)
                other = t;
        at_threads(m, FAULT_DEADLOCK, warp, other >= 0 ? other : ended);
        return 1;
    }
    if (barrier < 0) return 1;
    if (other >= 0 || ended >= 0) {
        at_threads(m, FAULT_DIVERGENT_BARRIER, barrier, other >= 0 ? other : ended);
        return 1;
    }
    int32_t point = m->states[barrier] >> 3;
    resolve_block(m, m->launch->operations[point]);
    m->launch->barriers++;
    if (m->launch->races) shadow_barrier(m);
    for (int32_t t = 0; t < m->threads; t++) m->states[t] = point << 3 | RUNS;
    return 0;
}

static __attribute__((noinline)) void run_turns(struct machine *m) {
    int64_t idle = 0;
    int32_t units = (m->threads + m->unit - 1) / m->unit;
    do {
        for (int running = 1; running && !m->launch->fatal;) {
            int more = running = 0;
            for (int32_t u = 0; u < units; u++) {
                int32_t first = (int32_t)m->units[u] * m->unit;
                int32_t last = first + m->unit < m->threads ? first + m->unit : m->threads;
                if (!anyone_runs(m, first, last)) continue;
                running = 1;
                more |= advance(m, first, last);
                if (m->unit == LANES) resolve_warp(m, first, last);
            }
            idle = more || !running ? 0 : idle + 1;
            if (idle > IDLE_ROUNDS) {
                for (int32_t t = 0; t < m->threads; t++)
                    if ((m->states[t] & 7) == RUNS) { at_threads(m, FAULT_LIVELOCK, t, -1); break; }
            }
        }
    } while (!m->launch->fatal && !all_ended(m));
}

/* The fast path: all threads of a block reach the same points. Goes over to turns where they do not. */
static void run_phases(struct machine *m) {
    for (int32_t point = 0;;) {
        emu_phase(m, point, 0, m->threads);
        int32_t state = m->states[0], differs = 0;
        for (int32_t t = 1; t < m->threads; t++) differs |= m->states[t] ^ state;
        if (differs || (state & 7) != AT_BLOCK || m->launch->operations[state >> 3] != OP_BARRIER) {
            if (differs || (state & 7) != ENDED) {
                for (int32_t t = 0; t < m->threads; t++)
                    if ((m->states[t] & 7) == EXHAUSTED) at_threads(m, FAULT_ENDLESS, t, -1);
                run_turns(m);
            }
            return;
        }
        point = state >> 3;
        m->launch->barriers++;
        if (m->launch->races) shadow_barrier(m);
    }
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Seed 0 is the order of the numbers; another one shuffles the warps and the threads within each. */
static void set_order(struct machine *m) {
    uint64_t state = m->launch->seed;
    int32_t units = (m->threads + m->unit - 1) / m->unit;
    for (int32_t u = 0; u < units; u++) m->units[u] = (uint32_t)u;
    for (int32_t t = 0; t < m->threads; t++) m->order[t] = t;
    m->in_order = state == 0;
    if (m->in_order) return;
    for (int32_t u = units - 1; u > 0; u--) {
        int32_t v = (int32_t)(next_random(&state) % (uint64_t)(u + 1));
        uint32_t kept = m->units[u];
        m->units[u] = m->units[v], m->units[v] = kept;
    }
    for (int32_t first = 0; first < m->threads; first += m->unit) {
        int32_t last = first + m->unit < m->threads ? first + m->unit : m->threads;
        for (int32_t t = last - 1; t > first; t--) {
            int32_t v = first + (int32_t)(next_random(&state) % (uint64_t)(t - first + 1));
            int32_t kept = m->order[t];
            m->order[t] = m->order[v], m->order[v] = kept;
        }
    }
}

static void run_block(struct machine *m, int64_t block) {
    struct launch *l = m->launch;
    m->block = block;
    m->ctaid[0] = (int32_t)(block % l->grid[0]);
    m->ctaid[1] = (int32_t)(block / l->grid[0] % l->grid[1]);
    m->ctaid[2] = (int32_t)(block / l->grid[0] / l->grid[1]);
    memset(m->shared, PATTERN, (size_t)l->shared_bytes);
    if (l->races && !shadow_block(m)) {
        report(m, FAULT_MEMORY, -1, 0, block, 0, 0, -1, -1, 0);
        return;
    }
    if (l->strict || m->unit == LANES) {
        memset(m->states, 0, sizeof(int32_t) * (size_t)m->threads);
        run_turns(m);
    } else {
        run_phases(m);
    }
    if (l->consume && !l->fatal) deliver(m);
    l->blocks_run++;
}

void emu_launch(struct launch *l) {
    struct machine *m = calloc(1, sizeof *m);
    if (!m) { l->fatal = 1; return; }
    m->launch = l;
    m->arguments = l->arguments, m->regions = l->regions;
    m->threads = l->block[0] * l->block[1] * l->block[2];
    m->unit = l->unit < m->threads ? l->unit : m->threads;
    if (l->unit == LANES) m->unit = LANES;
    uint8_t *shared = malloc((size_t)l->shared_bytes + 64);
    m->frame = malloc((size_t)l->frame_bytes + 64);
    m->states = calloc(MAX_THREADS, sizeof(int32_t));
    m->shared = (uint8_t *)(((uintptr_t)shared + 63) & ~(uintptr_t)63);
    for (int32_t t = 0; t < m->threads; t++) {
        m->tid[0][t] = (uint16_t)(t % l->block[0]);
        m->tid[1][t] = (uint16_t)(t / l->block[0] % l->block[1]);
        m->tid[2][t] = (uint16_t)(t / l->block[0] / l->block[1]);
    }
    set_order(m);
    for (int64_t i = 0; i < l->region_count; i++)
        if (l->regions[i].shared) l->regions[i].base = m->shared + l->regions[i].shared - 1;
    if (!shared || !m->frame || !m->states || (l->races && !shadow_begin(m)) || (l->consume && !events_begin(m)))
        report(m, FAULT_MEMORY, -1, 0, 0, 0, 0, -1, -1, 0);
    for (int64_t b = 0; b < l->blocks && !l->fatal; b++) {
        /* with a seed, blocks start anywhere and take another direction: any order is a valid one */
        int64_t place = l->seed == 0 ? b : (int64_t)((l->seed + (uint64_t)(l->blocks - 1 - b)) % (uint64_t)l->blocks);
        run_block(m, l->first_block + place);
    }
    if (l->consume) events_end(m);
    if (l->races) shadow_end(m);
    free(shared), free(m->frame), free(m->states), free(m);
}
