/* A streaming multiprocessor as far as one block of threads needs it. One per worker thread of the host.

The kernel is one function, `step`: thread t runs from one point to the next. A point is a place where a thread waits
for others (a barrier, a shuffle, a vote) or lets them go first; point 0 is the start. What a thread keeps from one
point to the next lies in `frame`. The state of a thread is (point << 3) | what it waits for. */
#ifndef EMULATION_MACHINE_H
#define EMULATION_MACHINE_H
#include <stdint.h>

#define LANES 32
#define MAX_THREADS 1024
#define MAX_FAULTS 256
#define INLINE __attribute__((always_inline))

/* What a thread waits for; after ENDED the point is the number of its return, after EXHAUSTED that of its loop. */
enum { RUNS, AT_WARP, AT_BLOCK, YIELDED, EXHAUSTED, ENDED };

/* Operations of points, in the order of `lowering/points.py`. */
enum {
    OP_START, OP_YIELD, OP_BARRIER, OP_BARRIER_POPC, OP_BARRIER_AND, OP_BARRIER_OR, OP_WARP_SYNC,
    OP_SHUFFLE_UP, OP_SHUFFLE_DOWN, OP_SHUFFLE_BFLY, OP_SHUFFLE_IDX,
    OP_VOTE_ALL, OP_VOTE_ANY, OP_VOTE_UNI, OP_VOTE_BALLOT, OP_MATCH_ANY, OP_MATCH_ALL,
    OP_REDUX_ADD, OP_REDUX_UMIN, OP_REDUX_UMAX, OP_REDUX_MIN, OP_REDUX_MAX, OP_REDUX_AND, OP_REDUX_OR, OP_REDUX_XOR
};

/* In the order of `faults.py`. */
enum {
    FAULT_SHARED_RACE, FAULT_GLOBAL_RACE, FAULT_OUT_OF_BOUNDS, FAULT_UNINITIALISED, FAULT_MISALIGNED,
    FAULT_DIVERGENT_BARRIER, FAULT_WARP_MASK, FAULT_DEADLOCK, FAULT_LIVELOCK, FAULT_ENDLESS, FAULT_CONSUMER,
    FAULT_EVENTS, FAULT_MEMORY
};

/* A record is time << 26 | thread << 16 | site; 0 is none, for time begins with 1. */
struct cell { uint64_t write, atomic, atomic_other, read, read_other, earlier[3]; };

struct region { /* an array that was passed, or a variable in shared memory */
    uint8_t *base;
    int64_t bytes;
    struct cell *cells; /* null where nothing can race */
    int32_t granule;    /* log2 of the bytes of a cell */
    int32_t shared;
};

struct fault {
    int32_t kind;
    int32_t region;      /* -1: unknown */
    int64_t offset;      /* in bytes, from the start of the region; an address if the region is unknown */
    int64_t block[2];    /* of the first and of the second access; -1: there is none */
    int32_t thread[2];
    int32_t place[2];    /* a site; of a fault of a barrier, the state of the thread */
    int64_t count;
};

typedef void (*consumer)(void *state, int64_t block, int32_t warp, const int32_t *first, const uint16_t *site,
                         const uint64_t *address);

struct launch { /* filled in by `launch.py` */
    int64_t first_block, blocks; /* linear numbers */
    int64_t grid[3];
    int32_t block[3];
    int32_t strict, races, unit; /* unit: threads that take turns together */
    int64_t shared_bytes, frame_bytes;
    uint64_t seed;
    int64_t patience;   /* turns round a loop, without a point, that are taken for endless */
    const uint64_t *arguments;
    const int32_t *operations; /* of each point */
    struct region *regions;
    int64_t region_count;
    consumer consume;
    void *consumer_state;
    const volatile int32_t *stop; /* what the consumer says when it wants no more */
    /* what came out */
    int64_t blocks_run, barriers, events, fault_count, fatal;
    struct fault faults[MAX_FAULTS];
};

struct segment { int64_t start; int32_t thread; int32_t pad; };

struct machine {
    struct launch *launch;
    const uint64_t *arguments;
    const struct region *regions;
    uint8_t *shared, *frame;
    int32_t *states;
    int32_t ctaid[3];
    int32_t threads, unit, in_order;
    int64_t block;
    int32_t order[MAX_THREADS];
    uint32_t units[MAX_THREADS];
    uint16_t tid[3][MAX_THREADS];
    /* what threads hand to each other at a point, and get from it */
    uint64_t value[MAX_THREADS], result[MAX_THREADS];
    int32_t by[MAX_THREADS], clamp[MAX_THREADS], flag[MAX_THREADS];
    uint32_t mask[MAX_THREADS];
    /* events.c */
    uint16_t *sites, *sorted_sites;
    uint64_t *addresses, *sorted_addresses;
    struct segment *segments;
    int64_t event_count, event_room, segment_count, segment_room, sorted_room;
    /* shadow.c: the time now, at the last barrier and at the start of the block; what each lane knows of the others */
    uint64_t now, barrier_time, block_time;
    uint64_t *block_times;
    int64_t block_time_count, block_time_room;
    uint64_t (*seen)[LANES];
    uint8_t nowhere[64];
};

/* of the kernel */
void emu_phase(struct machine *m, int32_t point, int64_t first, int64_t last);
void emu_lanes(struct machine *m, int64_t first, int64_t last);

/* warp.c */
void resolve_warp(struct machine *m, int32_t first, int32_t last);
void resolve_block(struct machine *m, int32_t operation);
/* shadow.c */
void shadow_touch(struct machine *m, struct cell *c, int32_t t, int32_t site, int32_t kind, int32_t region,
                  int64_t offset);
void *check_slowly(struct machine *m, int64_t t, uint8_t *address, int64_t bytes, int64_t align, int32_t site,
                   int32_t kind, int32_t region);
int shadow_begin(struct machine *m);
void shadow_end(struct machine *m);
int shadow_block(struct machine *m);
void shadow_barrier(struct machine *m);
void shadow_warp(struct machine *m, int32_t first, uint32_t lanes);
/* events.c */
int events_begin(struct machine *m);
int64_t more_events(struct machine *m);
int64_t more_segments(struct machine *m);
void deliver(struct machine *m);
void events_end(struct machine *m);

void report(struct machine *m, int32_t kind, int32_t region, int64_t offset, int64_t block, int32_t thread,
            int32_t place, int64_t other_block, int32_t other_thread, int32_t other_place);
#endif
