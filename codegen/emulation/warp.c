/* What the threads of a warp hand to each other: shuffles, votes, matches, reductions. As the manual of PTX has them. */
#include "machine.h"

#define ABSENT 0x5A5A5A5Au /* what comes from a lane that does not take part */

static int32_t source_of(int32_t operation, int32_t lane, int32_t by, int32_t clamp, int32_t *valid) {
    int32_t segment = clamp >> 8 & 31, step = by & 31, bound = (lane & segment) | (clamp & 31 & ~segment);
    int32_t from;
    switch (operation) {
    case OP_SHUFFLE_UP: from = lane - step, *valid = from >= bound; break;
    case OP_SHUFFLE_DOWN: from = lane + step, *valid = from <= bound; break;
    case OP_SHUFFLE_BFLY: from = lane ^ step, *valid = from <= bound; break;
    default: from = (lane & segment) | (step & ~segment), *valid = from <= bound; break;
    }
    return *valid ? from : lane;
}

static uint32_t folded(int32_t operation, uint32_t a, uint32_t b) {
    switch (operation) {
    case OP_REDUX_ADD: return a + b;
    case OP_REDUX_UMIN: return a < b ? a : b;
    case OP_REDUX_UMAX: return a > b ? a : b;
    case OP_REDUX_MIN: return (int32_t)a < (int32_t)b ? a : b;
    case OP_REDUX_MAX: return (int32_t)a > (int32_t)b ? a : b;
    case OP_REDUX_AND: return a & b;
    case OP_REDUX_OR: return a | b;
    default: return a ^ b;
    }
}

/* What is the same for all lanes of a group. `all`: in how many a truth holds, as a mask. */
static uint64_t common(const struct machine *m, int32_t operation, int32_t first, uint32_t lanes, int32_t *flag) {
    uint32_t all = 0, total = 0;
    int32_t leader = __builtin_ctz(lanes), alike = 1, started = 0;
    for (int32_t lane = 0; lane < LANES; lane++) {
        if (!(lanes >> lane & 1)) continue;
        uint64_t value = m->value[first + lane];
        all |= (uint32_t)(value & 1) << lane;
        alike &= value == m->value[first + leader];
        total = started ? folded(operation, total, (uint32_t)value) : (uint32_t)value;
        started = 1;
    }
    *flag = alike;
    switch (operation) {
    case OP_VOTE_ALL: return all == lanes;
    case OP_VOTE_ANY: return all != 0;
    case OP_VOTE_UNI: return all == lanes || all == 0;
    case OP_VOTE_BALLOT: return all;
    case OP_MATCH_ALL: return alike ? lanes : 0;
    default: return total;
    }
}

static void exchange(struct machine *m, int32_t operation, int32_t first, uint32_t lanes) {
    int32_t flag;
    uint64_t same = common(m, operation, first, lanes, &flag);
    for (int32_t lane = 0; lane < LANES; lane++) {
        if (!(lanes >> lane & 1)) continue;
        int32_t t = first + lane;
        m->result[t] = same, m->flag[t] = flag;
        if (operation >= OP_SHUFFLE_UP && operation <= OP_SHUFFLE_IDX) {
            int32_t from = source_of(operation, lane, m->by[t], m->clamp[t], &m->flag[t]);
            m->result[t] = lanes >> from & 1 ? m->value[first + from] : ABSENT;
        } else if (operation == OP_MATCH_ANY) {
            uint32_t found = 0;
            for (int32_t other = 0; other < LANES; other++)
                if (lanes >> other & 1 && m->value[first + other] == m->value[t]) found |= 1u << other;
            m->result[t] = found;
        }
    }
}

/* Lanes go on when all lanes of their mask that have not ended wait for the same operation with the same mask, be it
   at another place of the program. */
void resolve_warp(struct machine *m, int32_t first, int32_t last) {
    int32_t *states = m->states;
    uint32_t waiting = 0, ended = last - first < LANES ? ~0u << (last - first) : 0;
    for (int32_t t = first; t < last; t++) {
        waiting |= (uint32_t)((states[t] & 7) == AT_WARP) << (t - first);
        ended |= (uint32_t)((states[t] & 7) == ENDED) << (t - first);
    }
    while (waiting) {
        int32_t leader = __builtin_ctz(waiting), state = states[first + leader];
        int32_t operation = m->launch->operations[state >> 3];
        uint32_t mask = m->mask[first + leader], lanes = 0;
        for (int32_t t = first; t < last; t++)
            lanes |= (uint32_t)((states[t] & 7) == AT_WARP && m->launch->operations[states[t] >> 3] == operation &&
                                m->mask[t] == mask)
                     << (t - first);
        waiting &= ~lanes;
        if (lanes & ~mask) {
            report(m, FAULT_WARP_MASK, -1, 0, m->block, first + leader, state, -1, -1, 0);
            return;
        }
        if ((mask & ~ended) != lanes) continue; /* some are not there yet */
        if (operation == OP_WARP_SYNC) {
            if (m->launch->races) shadow_warp(m, first, lanes);
        } else {
            exchange(m, operation, first, lanes);
        }
        for (int32_t t = first; t < last; t++)
            if (lanes >> (t - first) & 1) states[t] = states[t] >> 3 << 3 | RUNS;
    }
}

/* A barrier that reduces a truth over the block. */
void resolve_block(struct machine *m, int32_t operation) {
    if (operation == OP_BARRIER) return;
    uint64_t count = 0;
    for (int32_t t = 0; t < m->threads; t++) count += m->value[t] != 0;
    uint64_t found = operation == OP_BARRIER_POPC  ? count
                     : operation == OP_BARRIER_AND ? count == (uint64_t)m->threads
                                                   : count != 0;
    for (int32_t t = 0; t < m->threads; t++) m->result[t] = found;
}
