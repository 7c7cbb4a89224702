/* What an instrumented or rescheduled program calls at run time.
 *
 * One unit, compiled with the program, of several files. This one counts and times loops, and has rescheduled
 * regions run (`blocks.c`, on the threads of `threads.c`). Everything that needs thought (guards, layouts, inspection) happens in the host
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
#include "live_objects.c"
#include "fingerprint.c"
#include "orders.c"
#include "reductions.c"
#include "surroundings.c"
#include "threads.c" /* takes the surroundings over */

#include "copies.c"
#include "rows.c"
#include "pages.c"
#include "blocks.c"

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

/* ---- rescheduled regions -------------------------------------------------------------------------------------- */

typedef struct { int64_t calls, declined, nanoseconds, original_nanoseconds, started; } RegionState;

const int64_t tc_region_state_bytes = sizeof(RegionState);
const Plan **tc_plans; /* by region; NULL while its layout is not in force */
RegionState *tc_regions;
void (*tc_on_enter)(int32_t, const uint64_t *, int32_t); /* scope, its values, whether exceptions trap */
void (*tc_on_leave)(int32_t);
void (*tc_on_pause)(int32_t, int32_t); /* scope, whether its layout is given up until the scope is entered anew */
int32_t *tc_in_force;                  /* by scope: whether its layout is */
void (*tc_on_mismatch)(int32_t, int32_t);
void (*tc_on_probe)(int32_t);
int32_t *tc_probe; /* by region: calls until the host wants to decide about a layout, 0: it does not */
int32_t tc_enabled;
int32_t tc_cramped; /* entries that the host was not told of, for want of room on the stack */
int32_t tc_depth[4096]; /* by scope: how often it is entered, one in another */
static uint8_t untold[4096];

/* Run a plan outside of any program, on the threads of a pool. Returns nanoseconds. */
int64_t tc_execute(Pool *pool, const Plan *plan, const uint64_t *in, uint64_t *out) {
    int64_t start = now();
    execute(pool, plan, in, out);
    return now() - start;
}

static void tell_of_mismatch(int32_t region, int32_t slot) {
    Surroundings kept;
    set_aside(&kept);
    tc_on_mismatch(region, slot); /* puts the data back and switches the plan off */
    give_back(&kept);
}

static int is_hosted(void) { return tc_enabled && getpid() == program_pool.owner; }

int32_t tc_region(int32_t region, const uint64_t *in, uint64_t *out) {
    if (!tc_regions) return 0;
    RegionState *state = &tc_regions[region];
    const Plan *plan = tc_plans[region];
    if (tc_probe[region] && --tc_probe[region] == 0 && is_hosted() && has_room()) {
        Surroundings kept;
        set_aside(&kept);
        tc_on_probe(region); /* may bring a layout into force or end it, here between two loops */
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
    if (plan->offload) {
        int32_t standard = is_standard() && getpid() == program_pool.owner, done;
        Surroundings kept;
        set_aside(&kept);
        done = plan->offload(region, in, out, standard);
        give_back(&kept);
        if (!done) return 0;
    } else execute(&program_pool, plan, in, out);
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

void tc_scope_enter(int32_t scope, const uint64_t *values) {
    if (tc_depth[scope]++ || !is_hosted() || !tc_on_enter) return;
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
    if (--tc_depth[scope] || !is_hosted() || !tc_on_leave || untold[scope]) return;
    Surroundings kept;
    set_aside(&kept);
    tc_on_leave(scope);
    give_back(&kept);
}

/* An exit begins, in which the data have to lie in their places. */
void tc_scope_pause(int32_t scope, int32_t final) {
    if (!tc_in_force || !(final || tc_in_force[scope]) || !is_hosted() || !tc_on_pause) return;
    Surroundings kept;
    set_aside(&kept);
    tc_on_pause(scope, final);
    give_back(&kept);
}

/* Blocks of bytes in a scope whose loops run on a card. */
int32_t (*tc_on_block)(int32_t, void *, const void *, int32_t, int64_t); /* whether it was done there */

static int done_elsewhere(int32_t scope, void *target, const void *source, int32_t byte, int64_t size) {
    int32_t done;
    Surroundings kept;
    if (!tc_on_block || !tc_in_force || !tc_in_force[scope] || !is_hosted()) return 0;
    set_aside(&kept);
    done = tc_on_block(scope, target, source, byte, size);
    give_back(&kept);
    return done;
}

void tc_block_fill(int32_t scope, void *target, int8_t byte, int64_t size) {
    if (!done_elsewhere(scope, target, NULL, byte & 255, size)) memset(target, byte, (size_t)size);
}

void tc_block_copy(int32_t scope, void *target, const void *source, int64_t size) {
    if (!done_elsewhere(scope, target, source, 0, size)) memmove(target, source, (size_t)size);
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
