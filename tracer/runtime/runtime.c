/* What an instrumented or rescheduled program calls at run time.
 *
 * One unit, compiled with the program, of several files. This one counts and times loops, and runs rescheduled regions
 * on a small pool of pinned threads. Everything that needs thought (guards, layouts, inspection) happens in the host
 * process behind `tc_on_enter`, `tc_on_leave` and `tc_on_loop`.
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

#include "allocations.c"
#include "copies.c"
#include "fingerprint.c"
#include "orders.c"
#include "reductions.c"
#include "surroundings.c"

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
