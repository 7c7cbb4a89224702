/* Putting data into another order and back, on the threads of the pool. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct { char *target; const char *source; const int32_t *index; int64_t count, size; int32_t threads, scatter; } Move;

typedef struct { char bytes[16]; } Bytes16;
typedef struct { char bytes[24]; } Bytes24;
typedef struct { char bytes[32]; } Bytes32;

static void move_part(int32_t thread, void *data) {
    const Move *move = data;
    int64_t first = move->count * thread / move->threads, last = move->count * (thread + 1) / move->threads;
    const int32_t *index = move->index;
#define MOVE(TYPE)                                                                                                \
    if (move->scatter)                                                                                            \
        for (int64_t i = first; i < last; i++) ((TYPE *)move->target)[index[i]] = ((const TYPE *)move->source)[i]; \
    else                                                                                                          \
        for (int64_t i = first; i < last; i++) ((TYPE *)move->target)[i] = ((const TYPE *)move->source)[index[i]];
    switch (move->size) {
    case 1: MOVE(uint8_t) return;
    case 2: MOVE(uint16_t) return;
    case 4: MOVE(uint32_t) return;
    case 8: MOVE(uint64_t) return;
    case 16: MOVE(Bytes16) return;
    case 24: MOVE(Bytes24) return;
    case 32: MOVE(Bytes32) return;
    }
    size_t size = (size_t)move->size;
    for (int64_t i = first; i < last; i++) {
        size_t from = (size_t)(move->scatter ? i : index[i]), to = (size_t)(move->scatter ? index[i] : i);
        memcpy(move->target + to * size, move->source + from * size, size);
    }
}

/* target[i] = source[index[i]], records of `size` bytes; with `scatter`, target[index[i]] = source[i]. */
void tc_move(Pool *pool, void *target, const void *source, const int32_t *index, int64_t count, int64_t size, int32_t threads,
             int32_t scatter) {
    Move move = {target, source, index, count, size, threads < 1 ? 1 : threads, scatter};
    run_on(pool, move.threads, move_part, &move);
}

static void back_part(int32_t thread, void *data) {
    const Move *move = data;
    int64_t bytes = move->count * move->size;
    int64_t first = bytes / move->threads * thread;
    int64_t last = thread + 1 == move->threads ? bytes : bytes / move->threads * (thread + 1);
    memcpy((char *)move->source + first, move->target + first, (size_t)(last - first));
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older kernels answer EINVAL, and nothing is lost but time */
#endif

/* Give the pages of an array memory of their own. One that was never written would be mapped to the page of zeros by the
 * gather that reads it and once more by the write that follows, each of which interrupts every other thread. */
static void populate_part(int32_t thread, void *data) {
    const Move *move = data;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)move->source;
    uintptr_t low = start / page, pages = (start + (uintptr_t)(move->count * move->size) + page - 1) / page - low;
    uintptr_t threads = (uintptr_t)move->threads, first = pages * (uintptr_t)thread / threads;
    uintptr_t last = pages * ((uintptr_t)thread + 1) / threads;
    if (last > first) madvise((void *)((low + first) * page), (last - first) * page, MADV_POPULATE_WRITE);
}

/* Permute an array in place by way of a room of the same size. */
void tc_permute(Pool *pool, void *array, void *room, const int32_t *index, int64_t count, int64_t size, int32_t threads,
                int32_t scatter) {
    Move move = {room, array, index, count, size, threads < 1 ? 1 : threads, scatter};
    if (!scatter) run_on(pool, move.threads, populate_part, &move); /* on the way back it has been written */
    run_on(pool, move.threads, move_part, &move);
    run_on(pool, move.threads, back_part, &move);
}

/* Copy bytes, and touch bytes that somebody is about to write: each thread its share, so that the pages come to lie on
   the node of the thread whose jobs, by and large, use them. */
void tc_copy(Pool *pool, void *target, void *source, int64_t bytes, int32_t threads) {
    Move move = {source, target, NULL, bytes, 1, threads < 1 ? 1 : threads, 0};
    run_on(pool, move.threads, back_part, &move);
}

void tc_touch(Pool *pool, void *array, int64_t bytes, int32_t threads) {
    Move move = {NULL, array, NULL, bytes, 1, threads < 1 ? 1 : threads, 0};
    run_on(pool, move.threads, populate_part, &move);
}

typedef struct {
    char *target;
    const char *source;
    const int32_t *order, *length;
    const int64_t *first;
    int64_t count, size, records[MAX_THREADS]; /* of the pieces of each thread */
    int32_t threads;
} Pieces;

static void count_part(int32_t thread, void *data) {
    Pieces *pieces = data;
    int64_t begin = pieces->count * thread / pieces->threads, end = pieces->count * (thread + 1) / pieces->threads;
    int64_t records = 0;
    for (int64_t i = begin; i < end; i++) records += pieces->length[pieces->order[i]];
    pieces->records[thread] = records;
}

/* How far ahead of the piece that is copied others are asked for: where they lie, and then their bytes. */
enum { FAR = 24, NEAR = 12, LINE = 64, MOST = 4 * LINE };

static inline void ask_for(const char *from, int64_t bytes) {
    for (int64_t b = 0; b < bytes && b < MOST; b += LINE) __builtin_prefetch(from + b); /* the processor sees the rest */
}

static void pieces_part(int32_t thread, void *data) {
    const Pieces *pieces = data;
    int64_t begin = pieces->count * thread / pieces->threads, end = pieces->count * (thread + 1) / pieces->threads;
    int64_t size = pieces->size;
    char *at = pieces->target;
    for (int32_t t = 0; t < thread; t++) at += pieces->records[t] * size;
    for (int64_t i = begin; i < end; i++) {
        if (i + FAR < end) {
            int32_t later = pieces->order[i + FAR], next = pieces->order[i + NEAR];
            __builtin_prefetch(&pieces->first[later]);
            __builtin_prefetch(&pieces->length[later]);
            ask_for(pieces->source + pieces->first[next] * size, pieces->length[next] * size);
        }
        int32_t old = pieces->order[i];
        const char *from = pieces->source + pieces->first[old] * size;
        int64_t bytes = (int64_t)pieces->length[old] * size;
        if (size == 8)
            for (int64_t b = 0; b < bytes; b += 8) *(uint64_t *)(at + b) = *(const uint64_t *)(from + b);
        else if (size == 4)
            for (int64_t b = 0; b < bytes; b += 4) *(uint32_t *)(at + b) = *(const uint32_t *)(from + b);
        else
            memcpy(at, from, (size_t)bytes);
        at += bytes;
    }
}

/* Copy pieces: piece i of the target is piece order[i] of the source, at first[order[i]], length[order[i]] records. */
void tc_move_pieces(Pool *pool, void *target, const void *source, const int32_t *order, const int64_t *first,
                    const int32_t *length, int64_t count, int64_t size, int32_t threads) {
    Pieces pieces = {.target = target, .source = source, .order = order, .length = length, .first = first,
                     .count = count, .size = size, .threads = threads < 1 ? 1 : threads};
    if (pieces.threads > MAX_THREADS) pieces.threads = MAX_THREADS;
    if (pieces.threads > 1) run_on(pool, pieces.threads, count_part, &pieces);
    run_on(pool, pieces.threads, pieces_part, &pieces);
}

typedef struct { char *field; int64_t count, stride; int32_t width, threads; const int32_t *map; int64_t low, high; } Renumber;

static void renumber_part(int32_t thread, void *data) {
    const Renumber *job = data;
    int64_t first = job->count * thread / job->threads, last = job->count * (thread + 1) / job->threads;
    char *at = job->field + first * job->stride;
#define RENUMBER(TYPE)                                                                                            \
    for (int64_t i = first; i < last; i++, at += job->stride) {                                                   \
        TYPE v;                                                                                                   \
        memcpy(&v, at, sizeof v);                                                                                 \
        int64_t value = (int64_t)v;                                                                               \
        if (value >= job->low && value < job->high) {                                                             \
            v = (TYPE)(job->map[value - job->low] + job->low);                                                    \
            memcpy(at, &v, sizeof v);                                                                             \
        }                                                                                                         \
    }
    switch (job->width) {
    case 1: RENUMBER(int8_t) return;
    case 2: RENUMBER(int16_t) return;
    case 4: RENUMBER(int32_t) return;
    case 8: RENUMBER(int64_t) return;
    }
}

/* Renumber an index field in place: values v in [low, high) become map[v − low] + low. */
void tc_renumber(Pool *pool, void *field, int64_t count, int64_t stride, int32_t width, const int32_t *map, int64_t low,
                 int64_t high, int32_t threads) {
    Renumber job = {field, count, stride, width, threads < 1 ? 1 : threads, map, low, high};
    run_on(pool, job.threads, renumber_part, &job);
}

typedef struct { char *data; const uint64_t *place; const int64_t *size, *start; int64_t count; int32_t threads; } Gather;

static void gather_part(int32_t thread, void *arg) {
    Gather *job = arg;
    int64_t first = job->count * thread / job->threads, last = job->count * (thread + 1) / job->threads;
    for (int64_t i = first; i < last; i++)
        memcpy(job->data + job->start[i], (const void *)(uintptr_t)job->place[i], (size_t)job->size[i]);
}

static void spread_part(int32_t thread, void *arg) {
    Gather *job = arg;
    int64_t first = job->count * thread / job->threads, last = job->count * (thread + 1) / job->threads;
    for (int64_t i = first; i < last; i++)
        memcpy((void *)(uintptr_t)job->place[i], job->data + job->start[i], (size_t)job->size[i]);
}

/* Copy memory that lies in many places behind each other: size[i] bytes at from[i] to to + start[i]. */
void tc_gather(Pool *pool, void *to, const uint64_t *from, const int64_t *size, const int64_t *start, int64_t count,
               int32_t threads) {
    Gather job = {to, from, size, start, count, threads < 1 ? 1 : threads};
    run_on(pool, job.threads, gather_part, &job);
}

/* The way back: size[i] bytes at from + start[i] to to[i]. */
void tc_spread(Pool *pool, void *from, const uint64_t *to, const int64_t *size, const int64_t *start, int64_t count,
               int32_t threads) {
    Gather job = {from, to, size, start, count, threads < 1 ? 1 : threads};
    run_on(pool, job.threads, spread_part, &job);
}

/* Which stretches of memory differ: changed[i] for size[i] bytes at here[i] and there[i]. */
void tc_changed(const uint64_t *here, const uint64_t *there, const int64_t *size, char *changed, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        changed[i] = memcmp((const void *)(uintptr_t)here[i], (const void *)(uintptr_t)there[i], (size_t)size[i]) != 0;
}
