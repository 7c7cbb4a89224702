/* What an instrumented or rescheduled program calls at run time.
 *
 * One unit, compiled with the program. It keeps the table of allocations, counts and times loops, and runs
 * rescheduled regions on a small pool of pinned threads. Everything that needs thought (guards, layouts,
 * inspection) happens in the host process behind `tc_on_enter`, `tc_on_leave` and `tc_on_loop`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fingerprint.c"
#include "surroundings.c"

/* ---- allocation table: open addressing, one spin lock ---------------------------------------------------- */

typedef struct { uintptr_t base; size_t size; } Entry;

static Entry *table;
static size_t capacity, used, live;
static atomic_flag table_lock = ATOMIC_FLAG_INIT;
#define GONE ((uintptr_t)1)

static void lock_table(void) {
    while (atomic_flag_test_and_set_explicit(&table_lock, memory_order_acquire))
        sched_yield();
}
static void unlock_table(void) { atomic_flag_clear_explicit(&table_lock, memory_order_release); }

static size_t slot_of(uintptr_t base) {
    return (size_t)((base >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (capacity - 1);
}

static void put(uintptr_t base, size_t size) {
    size_t slot = slot_of(base);
    while (table[slot].base > GONE) slot = (slot + 1) & (capacity - 1);
    if (table[slot].base == 0) used++;
    table[slot].base = base;
    table[slot].size = size;
    live++;
}

static int grow(void) {
    int error = errno;
    size_t old_capacity = capacity;
    Entry *old = table;
    size_t wanted = 1024;
    while (wanted < live * 4) wanted *= 2;
    Entry *fresh = calloc(wanted, sizeof *fresh);
    errno = error; /* the program asked for memory, and got it */
    if (!fresh) return 0;
    table = fresh;
    capacity = wanted;
    used = live = 0;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].base > GONE) put(old[i].base, old[i].size);
    free(old);
    return 1;
}

static void drop(uintptr_t base) {
    if (!capacity) return;
    size_t slot = slot_of(base);
    while (table[slot].base) {
        if (table[slot].base == base) {
            table[slot].base = GONE;
            live--;
            break;
        }
        slot = (slot + 1) & (capacity - 1);
    }
}

/* An allocation that can not be remembered is only one that will be refused later: never an error.
   What was at this address is gone, though its end was not seen: getline frees the buffer that it is given. */
static void remember(void *pointer, size_t size) {
    if (!pointer) return;
    lock_table();
    drop((uintptr_t)pointer);
    if (used * 2 < capacity || grow()) put((uintptr_t)pointer, size);
    unlock_table();
}

static void forget(void *pointer) {
    if (!pointer) return;
    lock_table();
    drop((uintptr_t)pointer);
    unlock_table();
}

void *tc_malloc(size_t size) {
    void *p = malloc(size);
    remember(p, size);
    return p;
}
void *tc_calloc(size_t count, size_t size) {
    void *p = calloc(count, size);
    remember(p, count * size);
    return p;
}
void *tc_realloc(void *old, size_t size) {
    forget(old);
    void *p = realloc(old, size);
    if (p) remember(p, size);
    else if (old && size) remember(old, 0); /* still alive; its size is no longer known */
    return p;
}
void *tc_reallocarray(void *old, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return tc_realloc(old, bytes);
}
void tc_free(void *p) {
    forget(p);
    free(p);
}
void *tc_aligned_alloc(size_t align, size_t size) {
    void *p = aligned_alloc(align, size);
    remember(p, size);
    return p;
}
int tc_posix_memalign(void **out, size_t align, size_t size) {
    int code = posix_memalign(out, align, size);
    if (!code) remember(*out, size);
    return code;
}
void *tc_memalign(size_t align, size_t size) {
    void *p = memalign(align, size);
    remember(p, size);
    return p;
}
void *tc_valloc(size_t size) {
    void *p = valloc(size);
    remember(p, size);
    return p;
}

/* Operators of C++, by their names in the binary. They are the program's own or the C++ library's; a C program, which
   has neither, never calls these. An exception that they throw passes through. */
#define NEW(NAME, PARAMETERS, ARGUMENTS)                                                                          \
    extern __attribute__((weak)) void *NAME PARAMETERS;                                                           \
    void *tc_##NAME PARAMETERS {                                                                                  \
        void *p = NAME ARGUMENTS;                                                                                 \
        remember(p, size);                                                                                        \
        return p;                                                                                                 \
    }
#define DELETE(NAME, PARAMETERS, ARGUMENTS)                                                                       \
    extern __attribute__((weak)) void NAME PARAMETERS;                                                            \
    void tc_##NAME PARAMETERS {                                                                                   \
        forget(p);                                                                                                \
        NAME ARGUMENTS;                                                                                           \
    }
NEW(_Znwm, (size_t size), (size))
NEW(_Znam, (size_t size), (size))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (size, align, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (size, align, tag))
DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))

/* Copies at most `room` entries; returns how many there are. */
size_t tc_objects(uintptr_t *bases, size_t *sizes, size_t room) {
    size_t count = 0;
    lock_table();
    for (size_t i = 0; i < capacity; i++)
        if (table[i].base > GONE) {
            if (count < room) {
                bases[count] = table[i].base;
                sizes[count] = table[i].size;
            }
            count++;
        }
    unlock_table();
    return count;
}

/* ---- tracing ------------------------------------------------------------------------------------------------ */

typedef void (*LoopCall)(int32_t, const uint64_t *);
LoopCall tc_on_loop;
int64_t *tc_loop_next;  /* entry count at which the host wants to hear of a loop again */
int64_t *tc_loop_entries;
uint8_t *tc_loop_awaited; /* by loop: whether the host wants to hear when it is left */

static void tell_of_loop(int32_t loop, const uint64_t *values) {
    Surroundings kept;
    set_aside(&kept);
    tc_on_loop(loop, values);
    give_back(&kept);
}

void tc_loop_done(int32_t loop) {
    if (tc_loop_awaited && tc_loop_awaited[loop] && tc_on_loop) {
        tc_loop_awaited[loop] = 0;
        tell_of_loop(~loop, NULL);
    }
}

void tc_loop(int32_t loop, const uint64_t *values) {
    if (!tc_loop_entries) return; /* a constructor of the program, before the host is ready */
    int64_t entry = ++tc_loop_entries[loop];
    if (entry >= tc_loop_next[loop] && tc_on_loop) tell_of_loop(loop, values);
}

/* ---- clocks ------------------------------------------------------------------------------------------------- */

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- threads ------------------------------------------------------------------------------------------------ */

#define MAX_THREADS 64
#define SPINS 40000 /* some 0.4 ms: a thread that sleeps between short sweeps takes longer to wake than a sweep lasts */
#define FEW_SPINS 400 /* where threads share a CPU: the one that is waited for may need this very CPU */

typedef void (*Range)(int64_t, int64_t, const uint64_t *, uint64_t *);
typedef void (*Task)(int32_t, void *);

static pthread_t workers[MAX_THREADS];
static int32_t worker_count;
static pid_t owner;
static Task task;
static void *task_data;
static atomic_int generation, running, patience = SPINS;
static atomic_uint task_flags; /* floating-point exceptions that workers met */
static Arithmetic task_arithmetic;
static int32_t task_threads;

static void futex_wait(atomic_int *word, int value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
static void futex_wake(atomic_int *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }

static void *work(void *argument) {
    int32_t self = (int32_t)(intptr_t)argument;
    int seen = 0;
    for (;;) {
        int spins = 0;
        while (atomic_load_explicit(&generation, memory_order_acquire) == seen) {
            if (++spins < atomic_load_explicit(&patience, memory_order_relaxed)) __builtin_ia32_pause();
            else futex_wait(&generation, seen);
        }
        seen = atomic_load_explicit(&generation, memory_order_acquire);
        if (self < task_threads) {
            take_over(task_arithmetic);
            task(self, task_data);
            atomic_fetch_or_explicit(&task_flags, raised_flags(), memory_order_relaxed);
            if (atomic_fetch_sub_explicit(&running, 1, memory_order_acq_rel) == 1) futex_wake(&running);
        }
    }
    return NULL;
}

/* Start workers 1 … threads − 1, pinned to cpus[1 …]. Returns the number of threads there are. */
int32_t tc_threads(int32_t threads, const int32_t *cpus) {
    owner = getpid();
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    if (worker_count == 0) worker_count = 1;
    for (int32_t i = 0; i < threads; i++)
        for (int32_t j = 0; j < i; j++)
            if (cpus[i] == cpus[j]) atomic_store_explicit(&patience, FEW_SPINS, memory_order_relaxed);
    while (worker_count < threads) {
        pthread_attr_t attributes;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpus[worker_count], &set);
        pthread_attr_init(&attributes);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        int failed = pthread_create(&workers[worker_count], &attributes, work, (void *)(intptr_t)worker_count);
        pthread_attr_destroy(&attributes);
        if (failed) break;
        worker_count++;
    }
    return worker_count;
}

static void run_on(int32_t threads, Task what, void *data) {
    if (threads <= 1 || worker_count < threads) {
        for (int32_t t = 0; t < threads; t++) what(t, data);
        return;
    }
    int error = errno;
    task = what;
    task_data = data;
    task_arithmetic = arithmetic();
    atomic_store_explicit(&task_flags, 0, memory_order_relaxed);
    task_threads = threads;
    atomic_store_explicit(&running, threads - 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&generation, 1, memory_order_release);
    futex_wake(&generation);
    what(0, data);
    int left, spins = 0;
    while ((left = atomic_load_explicit(&running, memory_order_acquire)) > 0) {
        if (++spins < atomic_load_explicit(&patience, memory_order_relaxed)) __builtin_ia32_pause();
        else futex_wait(&running, left);
    }
    raise_flags(atomic_load_explicit(&task_flags, memory_order_relaxed));
    errno = error;
}

/* ---- rescheduled regions -------------------------------------------------------------------------------------- */

#define MAX_SLOTS 256
#define MAX_REDUCTIONS 32

/* How one region runs while its layout is in force. Written by the host. */
typedef struct {
    Range run;
    int64_t jobs;
    int32_t slots, threads, checks, patches, reductions, privates;
    const int64_t *bounds;    /* threads + 1 offsets, then the end of the tail that runs after all of them */
    const int32_t *check_slot;
    const int32_t *check_bytes;
    const uint64_t *check_value;
    const int32_t *patch_slot;  /* slot, its source slot or −1, and what is added (or the value itself) */
    const int32_t *patch_from;
    const int64_t *patch_add;
    const int32_t *reduce_slot; /* start slot, operator, type */
    const int32_t *reduce_op;
    const int32_t *reduce_type;
    const int32_t *private_slot; /* a base that threads 1 … get a zeroed copy of their own for */
    const int64_t *private_low;  /* bytes [low, high) of the array, for each private and each thread */
    const int64_t *private_high;
    const int64_t *private_origin; /* what the base has to point to: base + origin is byte 0 */
    const int32_t *private_type;
    void **private_memory;
} Plan;

enum { OP_ADD, OP_FADD, OP_MUL, OP_FMUL, OP_AND, OP_OR, OP_XOR, OP_SMIN, OP_SMAX, OP_UMIN, OP_UMAX, OP_FMIN, OP_FMAX,
       OP_LESS, OP_MORE }; /* the last two choose by a comparison, which is false for NaN */
enum { TYPE_I8, TYPE_I16, TYPE_I32, TYPE_I64, TYPE_F32, TYPE_F64 };

typedef struct { int64_t calls, declined, nanoseconds, original_nanoseconds, started; } RegionState;

const Plan **tc_plans; /* by region; NULL while its layout is not in force */
RegionState *tc_regions;
void (*tc_on_enter)(int32_t, const uint64_t *, int32_t); /* scope, its values, whether exceptions trap */
void (*tc_on_leave)(int32_t);
void (*tc_on_mismatch)(int32_t, int32_t);
void (*tc_on_probe)(int32_t);
int32_t *tc_probe; /* by region: calls until the host wants to decide about a layout, 0: it does not */
int32_t tc_enabled;
int32_t tc_cramped; /* entries that the host was not told of, for want of room on the stack */
static int32_t depth[4096];
static uint8_t untold[4096];

typedef struct {
    const Plan *plan;
    const uint64_t *in;
    uint64_t out[MAX_THREADS + 1][MAX_REDUCTIONS];
    int32_t tail;
} Launch;

#define COMBINE(TYPE, FIELD)                                                                                      \
    {                                                                                                             \
        TYPE x, y;                                                                                                \
        memcpy(&x, a, sizeof x);                                                                                  \
        memcpy(&y, b, sizeof y);                                                                                  \
        FIELD;                                                                                                    \
        memcpy(a, &x, sizeof x);                                                                                  \
        return;                                                                                                   \
    }
#define INTEGERS(S, U)                                                                                            \
    switch (op) {                                                                                                 \
    case OP_ADD: COMBINE(U, x = (U)(x + y))                                                                       \
    case OP_MUL: COMBINE(U, x = (U)(x * y))                                                                       \
    case OP_AND: COMBINE(U, x &= y)                                                                               \
    case OP_OR: COMBINE(U, x |= y)                                                                                \
    case OP_XOR: COMBINE(U, x ^= y)                                                                               \
    case OP_SMIN: COMBINE(S, x = y < x ? y : x)                                                                   \
    case OP_SMAX: COMBINE(S, x = y > x ? y : x)                                                                   \
    case OP_UMIN: COMBINE(U, x = y < x ? y : x)                                                                   \
    case OP_UMAX: COMBINE(U, x = y > x ? y : x)                                                                   \
    }                                                                                                             \
    return;
#define REALS(R, MIN, MAX)                                                                                        \
    switch (op) {                                                                                                 \
    case OP_FADD: COMBINE(R, x += y)                                                                              \
    case OP_FMUL: COMBINE(R, x *= y)                                                                              \
    case OP_FMIN: COMBINE(R, x = MIN(x, y))                                                                       \
    case OP_FMAX: COMBINE(R, x = MAX(x, y))                                                                       \
    case OP_LESS: COMBINE(R, x = y < x ? y : x)                                                                   \
    case OP_MORE: COMBINE(R, x = y > x ? y : x)                                                                   \
    }                                                                                                             \
    return;

/* *a = *a op *b */
static void combine(void *a, const void *b, int32_t op, int32_t type) {
    switch (type) {
    case TYPE_I8: INTEGERS(int8_t, uint8_t)
    case TYPE_I16: INTEGERS(int16_t, uint16_t)
    case TYPE_I32: INTEGERS(int32_t, uint32_t)
    case TYPE_I64: INTEGERS(int64_t, uint64_t)
    case TYPE_F32: REALS(float, __builtin_fminf, __builtin_fmaxf)
    case TYPE_F64: REALS(double, __builtin_fmin, __builtin_fmax)
    }
}

static uint64_t bits_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static uint64_t bits_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What is added without any effect: −0.0, since −0.0 + 0.0 is 0.0; rounding downward it is −0.0, and 0.0 has none. */
static uint64_t no_addend(int32_t type) {
    if ((sse_state() & ROUNDING_SSE) == DOWNWARD_SSE) return 0;
    return type == TYPE_F32 ? bits_f32(-0.0f) : type == TYPE_F64 ? bits_f64(-0.0) : 0;
}

/* The value that changes nothing. */
static uint64_t identity(int32_t op, int32_t type) {
    int wide = 8 << (type & 3);
    uint64_t ones = ~UINT64_C(0), top = UINT64_C(1) << (wide - 1);
    switch (op) {
    case OP_FADD: return no_addend(type);
    case OP_FMUL: return type == TYPE_F32 ? bits_f32(1.0f) : bits_f64(1.0);
    case OP_FMIN: return type == TYPE_F32 ? bits_f32(__builtin_nanf("")) : bits_f64(__builtin_nan(""));
    case OP_FMAX: return type == TYPE_F32 ? bits_f32(__builtin_nanf("")) : bits_f64(__builtin_nan(""));
    case OP_LESS: return type == TYPE_F32 ? bits_f32(__builtin_inff()) : bits_f64(__builtin_inf());
    case OP_MORE: return type == TYPE_F32 ? bits_f32(-__builtin_inff()) : bits_f64(-__builtin_inf());
    case OP_MUL: return 1;
    case OP_AND: case OP_UMIN: return ones;
    case OP_SMIN: return top - 1;
    case OP_SMAX: return top;
    default: return 0;
    }
}

static int32_t width_of(int32_t type) {
    static const int32_t widths[] = {1, 2, 4, 8, 4, 8};
    return widths[type];
}

/* Fill a private array with what is added without any effect. */
static void clear(char *memory, int64_t bytes, int32_t type) {
    uint64_t none = no_addend(type);
    if (!none) memset(memory, 0, (size_t)bytes);
    else if (type == TYPE_F32)
        for (int64_t i = 0; i < bytes; i += 4) memcpy(memory + i, &none, 4);
    else
        for (int64_t i = 0; i < bytes; i += 8) memcpy(memory + i, &none, 8);
}

static void run_part(int32_t thread, void *data) {
    Launch *launch = data;
    const Plan *plan = launch->plan;
    uint64_t in[MAX_SLOTS];
    int32_t row = launch->tail ? plan->threads : thread;
    memcpy(in, launch->in, sizeof(uint64_t) * (size_t)plan->slots);
    if (row > 0)
        for (int32_t r = 0; r < plan->reductions; r++)
            in[plan->reduce_slot[r]] = identity(plan->reduce_op[r], plan->reduce_type[r]);
    if (thread > 0 && !launch->tail)
        for (int32_t p = 0; p < plan->privates; p++) {
            int32_t place = p * plan->threads + thread;
            int64_t low = plan->private_low[place], high = plan->private_high[place];
            char *memory = plan->private_memory[place];
            clear(memory, high - low, plan->private_type[p]);
            in[plan->private_slot[p]] = (uint64_t)(uintptr_t)(memory - low - plan->private_origin[p]);
        }
    plan->run(plan->bounds[row], plan->bounds[row + 1], in, launch->out[row]);
}

/* The first number of [low, high) that starts at or behind a byte, counted in bytes from low. */
static int64_t number_behind(int64_t byte, int64_t low, int64_t high, int64_t step) {
    return byte <= low ? 0 : byte >= high ? high - low : (byte - low + step - 1) / step * step;
}

/* Each thread adds up one part of every reduced array, from the private arrays of all others in turn. */
static void add_part(int32_t thread, void *data) {
    const Launch *launch = data;
    const Plan *plan = launch->plan;
    for (int32_t p = 0; p < plan->privates; p++) {
        const int64_t *lows = plan->private_low + p * plan->threads, *highs = plan->private_high + p * plan->threads;
        int32_t type = plan->private_type[p], step = width_of(type);
        int64_t from = lows[1], to = highs[1];
        for (int32_t t = 2; t < plan->threads; t++) {
            if (lows[t] < from) from = lows[t];
            if (highs[t] > to) to = highs[t];
        }
        int64_t begin = from + (to - from) / plan->threads * thread;
        int64_t end = thread + 1 == plan->threads ? to : from + (to - from) / plan->threads * (thread + 1);
        for (int32_t t = 1; t < plan->threads; t++) {
            int64_t first = number_behind(begin, lows[t], highs[t], step);
            int64_t last = number_behind(end, lows[t], highs[t], step);
            char *target = (char *)(uintptr_t)launch->in[plan->private_slot[p]] + plan->private_origin[p] + lows[t];
            const char *source = plan->private_memory[p * plan->threads + t];
            uint64_t none = no_addend(type);
            /* What no job of that thread touched stays as it is, every bit: 0.0 + -0.0 may not be added either where
               tiny numbers are flushed to zero. */
#define ADD_UP(REAL, BITS)                                                                                        \
    for (int64_t i = first; i < last; i += (int64_t)sizeof(REAL)) {                                               \
        REAL *to = (REAL *)(target + i), added = *(const REAL *)(source + i);                                     \
        BITS bits;                                                                                                \
        memcpy(&bits, &added, sizeof bits);                                                                       \
        *to = bits == (BITS)none ? *to : *to + added;                                                             \
    }
            if (type == TYPE_F64) { ADD_UP(double, uint64_t) }
            else if (type == TYPE_F32) { ADD_UP(float, uint32_t) }
            else
                for (int64_t i = first; i < last; i += step) combine(target + i, source + i, OP_ADD, type);
        }
    }
}

static void execute(const Plan *plan, const uint64_t *given, uint64_t *out) {
    static Launch launch; /* regions do not nest and run one at a time */
    uint64_t in[MAX_SLOTS];
    memcpy(in, given, sizeof(uint64_t) * (size_t)plan->slots);
    for (int32_t p = 0; p < plan->patches; p++) {
        uint64_t base = plan->patch_from[p] < 0 ? 0 : in[plan->patch_from[p]];
        in[plan->patch_slot[p]] = base + (uint64_t)plan->patch_add[p];
    }
    launch.plan = plan;
    launch.in = in;
    launch.tail = 0;
    run_on(plan->threads, run_part, &launch);
    if (plan->threads > 1) {
        if (plan->privates) run_on(plan->threads, add_part, &launch);
        launch.tail = 1;
        run_part(0, &launch);
        for (int32_t r = 0; r < plan->reductions; r++)
            for (int32_t t = 1; t <= plan->threads; t++)
                combine(&launch.out[0][r], &launch.out[t][r], plan->reduce_op[r], plan->reduce_type[r]);
    }
    memcpy(out, launch.out[0], sizeof(uint64_t) * (size_t)plan->reductions);
    out[plan->reductions] = (uint64_t)plan->jobs;
}

/* Run a plan outside of any program: the measuring harness calls this. */
int64_t tc_execute(const Plan *plan, const uint64_t *in, uint64_t *out) {
    int64_t start = now();
    execute(plan, in, out);
    return now() - start;
}

static void tell_of_mismatch(int32_t region, int32_t slot) {
    Surroundings kept;
    set_aside(&kept);
    tc_on_mismatch(region, slot); /* puts the data back and switches the plan off */
    give_back(&kept);
}

int32_t tc_region(int32_t region, const uint64_t *in, uint64_t *out) {
    if (!tc_regions) return 0;
    RegionState *state = &tc_regions[region];
    const Plan *plan = tc_plans[region];
    if (!plan && tc_probe[region] && --tc_probe[region] == 0 && has_room()) {
        Surroundings kept;
        set_aside(&kept);
        tc_on_probe(region); /* may bring a layout into force, here between two loops */
        give_back(&kept);
        plan = tc_plans[region];
    }
    state->started = now();
    if (!plan) return 0;
    if (has_traps()) { /* which job meets its exception first is up to the order */
        tell_of_mismatch(region, -1);
        return 0;
    }
    for (int32_t c = 0; c < plan->checks; c++)
        if (memcmp(&in[plan->check_slot[c]], &plan->check_value[c], (size_t)plan->check_bytes[c])) {
            tell_of_mismatch(region, plan->check_slot[c]);
            return 0;
        }
    execute(plan, in, out);
    state->nanoseconds += now() - state->started;
    state->calls++;
    state->started = 0;
    return 1;
}

void tc_region_done(int32_t region) {
    if (!tc_regions || !tc_regions[region].started) return;
    RegionState *state = &tc_regions[region];
    state->original_nanoseconds += now() - state->started;
    state->declined++;
    state->started = 0;
}

static int is_hosted(void) { return tc_enabled && getpid() == owner; }

void tc_scope_enter(int32_t scope, const uint64_t *values) {
    if (depth[scope]++ || !is_hosted() || !tc_on_enter) return;
    untold[scope] = !has_room();
    if (untold[scope]) {
        tc_cramped++;
        return;
    }
    int32_t traps = has_traps();
    Surroundings kept;
    set_aside(&kept);
    tc_on_enter(scope, values, traps);
    give_back(&kept);
}

void tc_scope_leave(int32_t scope) {
    if (--depth[scope] || !is_hosted() || !tc_on_leave || untold[scope]) return;
    Surroundings kept;
    set_aside(&kept);
    tc_on_leave(scope);
    give_back(&kept);
}

/* ---- copies of a layout ----------------------------------------------------------------------------------------- */

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
void tc_move(void *target, const void *source, const int32_t *index, int64_t count, int64_t size, int32_t threads,
             int32_t scatter) {
    Move move = {target, source, index, count, size, threads < 1 ? 1 : threads, scatter};
    run_on(move.threads, move_part, &move);
}

static void back_part(int32_t thread, void *data) {
    const Move *move = data;
    int64_t bytes = move->count * move->size;
    int64_t first = bytes / move->threads * thread;
    int64_t last = thread + 1 == move->threads ? bytes : bytes / move->threads * (thread + 1);
    memcpy((char *)move->source + first, move->target + first, (size_t)(last - first));
}

/* Permute an array in place by way of a room of the same size. */
void tc_permute(void *array, void *room, const int32_t *index, int64_t count, int64_t size, int32_t threads,
                int32_t scatter) {
    Move move = {room, array, index, count, size, threads < 1 ? 1 : threads, scatter};
    run_on(move.threads, move_part, &move);
    run_on(move.threads, back_part, &move);
}

/* Copy pieces: piece i of the target is piece order[i] of the source, at first[order[i]], length[order[i]] records. */
void tc_move_pieces(void *target, const void *source, const int32_t *order, const int64_t *first,
                    const int32_t *length, int64_t count, int64_t size) {
    char *at = target;
    for (int64_t i = 0; i < count; i++) {
        int32_t old = order[i];
        const char *from = (const char *)source + first[old] * size;
        int64_t bytes = (int64_t)length[old] * size;
        if (size == 8)
            for (int64_t b = 0; b < bytes; b += 8) *(uint64_t *)(at + b) = *(const uint64_t *)(from + b);
        else if (size == 4)
            for (int64_t b = 0; b < bytes; b += 4) *(uint32_t *)(at + b) = *(const uint32_t *)(from + b);
        else
            memcpy(at, from, (size_t)bytes);
        at += bytes;
    }
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
void tc_renumber(void *field, int64_t count, int64_t stride, int32_t width, const int32_t *map, int64_t low,
                 int64_t high, int32_t threads) {
    Renumber job = {field, count, stride, width, threads < 1 ? 1 : threads, map, low, high};
    run_on(job.threads, renumber_part, &job);
}

/* Whether the processor has what the wide versions of range functions are made of (versions.py). */
int tc_wide(void) {
  static _Atomic int known; /* 1: no, 2: yes */
  int found = known;
  if (!found) {
    unsigned a, b, c, d, low, high;
    found = 1;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(1), "2"(0));
    if ((c & 0x18800000u) == 0x18800000u) { /* AVX, OSXSAVE, POPCNT */
      __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
      __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(7), "2"(0));
      if ((low & 6) == 6 && (b & 0x128u) == 0x128u) found = 2; /* AVX2, BMI, BMI2 */
    }
    known = found;
  }
  return found - 1;
}
