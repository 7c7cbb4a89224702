/* The accesses of a block as they come, and their delivery warp by warp, each lane's in the order of its program. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

/* A larger array in the place of an old one, which stays where there is no memory. */
static int grow(struct machine *m, void **array, int64_t room, size_t size) {
    void *made = realloc(*array, (size_t)room * size);
    if (made) *array = made;
    else report(m, FAULT_MEMORY, -1, 0, m->block, 0, 0, -1, -1, 0);
    return made != 0;
}

static int grow_pair(struct machine *m, uint16_t **sites, uint64_t **addresses, int64_t room) {
    return grow(m, (void **)sites, room, sizeof **sites) && grow(m, (void **)addresses, room, sizeof **addresses);
}

int events_begin(struct machine *m) {
    m->event_room = 1 << 16, m->segment_room = 1 << 12;
    return grow_pair(m, &m->sites, &m->addresses, m->event_room) &&
           grow(m, (void **)&m->segments, m->segment_room, sizeof *m->segments);
}

/* Without memory the run has failed: what still comes overwrites what there is, and is never delivered. */
int64_t more_events(struct machine *m) {
    if (!grow_pair(m, &m->sites, &m->addresses, 2 * m->event_room)) return 0;
    m->event_room *= 2;
    return m->event_count;
}

int64_t more_segments(struct machine *m) {
    if (!grow(m, (void **)&m->segments, 2 * m->segment_room, sizeof *m->segments)) return 0;
    m->segment_room *= 2;
    return m->segment_count;
}

static int64_t length_of(const struct machine *m, int64_t segment) {
    int64_t end = segment + 1 < m->segment_count ? m->segments[segment + 1].start : m->event_count;
    return end - m->segments[segment].start;
}

void deliver(struct machine *m) {
    struct launch *l = m->launch;
    int64_t begin[MAX_THREADS + 1] = {0}, next[MAX_THREADS];
    for (int64_t s = 0; s < m->segment_count; s++) begin[m->segments[s].thread + 1] += length_of(m, s);
    for (int32_t t = 0; t < m->threads; t++) begin[t + 1] += begin[t], next[t] = begin[t];
    if (m->event_count > m->sorted_room) {
        if (!grow_pair(m, &m->sorted_sites, &m->sorted_addresses, m->event_room)) return;
        m->sorted_room = m->event_room;
    }
    for (int64_t s = 0; s < m->segment_count; s++) {
        int64_t from = m->segments[s].start, count = length_of(m, s), to = next[m->segments[s].thread];
        next[m->segments[s].thread] += count;
        for (int64_t i = 0; i < count; i++) m->sorted_sites[to + i] = m->sites[from + i];
        for (int64_t i = 0; i < count; i++) m->sorted_addresses[to + i] = m->addresses[from + i];
    }
    for (int32_t first = 0; first < m->threads && !l->fatal; first += LANES) {
        int32_t places[LANES + 1];
        if (begin[first + LANES < m->threads ? first + LANES : m->threads] - begin[first] > INT32_MAX) {
            report(m, FAULT_EVENTS, -1, 0, m->block, first, 0, -1, -1, 0);
            return;
        }
        for (int32_t lane = 0; lane <= LANES; lane++) {
            int32_t t = first + lane < m->threads ? first + lane : m->threads;
            places[lane] = (int32_t)(begin[t] - begin[first]);
        }
        l->consume(l->consumer_state, m->block, first / LANES, places, m->sorted_sites + begin[first],
                   m->sorted_addresses + begin[first]);
        if (*l->stop)
            report(m, FAULT_CONSUMER, -1, 0, m->block, first, 0, -1, -1, 0);
    }
    l->events += m->event_count;
    m->event_count = m->segment_count = 0;
}

void events_end(struct machine *m) {
    free(m->sites), free(m->addresses), free(m->segments), free(m->sorted_sites), free(m->sorted_addresses);
}
