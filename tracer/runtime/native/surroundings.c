/* What our own code must leave as it found it in a thread of the program: errno and the floating-point environment.
 *
 * Rounding, flushing to zero, precision and traps are the program's; what runs on its behalf in other threads takes
 * them over, and the flags that it raises there become the program's. What runs for ourselves, the host's hooks above
 * all, runs in the environment that a process starts with.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#define SSE_START 0x1F80u
#define FLAGS 0x3Fu
#define TRAPS_SSE 0x1F80u /* a bit for each exception that does not trap */
#define ROUNDING_SSE 0x6000u
#define DOWNWARD_SSE 0x2000u

/* As fnstenv stores it. */
typedef struct { uint16_t control, pad1, status, pad2, tags, pad3; uint32_t instruction[4]; } X87;
typedef struct { X87 x87; uint32_t sse; int error; } Surroundings;

static uint32_t sse_state(void) {
    uint32_t state;
    __asm__ volatile("stmxcsr %0" : "=m"(state));
    return state;
}
static void set_sse(uint32_t state) { __asm__ volatile("ldmxcsr %0" : : "m"(state)); }

static int rounds_downward(void) { return (sse_state() & ROUNDING_SSE) == DOWNWARD_SSE; }

static uint16_t x87_control(void) {
    uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return control;
}

/* Store them, and go on as a process starts. */
static void set_aside(Surroundings *kept) {
    kept->error = errno;
    kept->sse = sse_state();
    __asm__ volatile("fnstenv %0\n\tfninit" : "=m"(kept->x87));
    set_sse(SSE_START);
}

static void give_back(const Surroundings *kept) {
    __asm__ volatile("fldenv %0" : : "m"(kept->x87));
    set_sse(kept->sse);
    errno = kept->error;
}

/* Whether a floating-point exception is to end the program, or to call its handler. */
static int has_traps(void) { return (sse_state() & TRAPS_SSE) != TRAPS_SSE || (x87_control() & FLAGS) != FLAGS; }

/* The part that other threads take over: how results are made, no flags. */
typedef struct { uint32_t sse; uint16_t x87; } Arithmetic;

static Arithmetic arithmetic(void) { return (Arithmetic){sse_state() & ~FLAGS, x87_control()}; }

static void take_over(Arithmetic from) {
    __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(from.x87));
    set_sse(from.sse);
}

/* Whether numbers are rounded to the nearest, and tiny ones kept. */
static int is_standard(void) { return (sse_state() & ~FLAGS) == (SSE_START & ~FLAGS); }

/* Flags that were raised since: those of SSE, and those of the x87 unit eight bits further on. */
static uint32_t raised_flags(void) {
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=m"(status));
    return (sse_state() & FLAGS) | (status & FLAGS) << 8;
}

static void raise_flags(uint32_t flags) {
    uint32_t sse = sse_state();
    if (flags & FLAGS & ~sse) set_sse(sse | (flags & FLAGS));
    if (flags >> 8) {
        X87 x87;
        __asm__ volatile("fnstenv %0" : "=m"(x87));
        x87.status |= (uint16_t)(flags >> 8);
        __asm__ volatile("fldenv %0" : : "m"(x87));
    }
}

/* ---- room for the host's hooks ---------------------------------------------------------------------------------- */

#define ROOM ((uintptr_t)512 << 10)

extern void *__libc_stack_end;

/* Whether this is the stack that the process started with, and has room for a call of the host. */
static int has_room(void) {
    struct rlimit limit;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), top = (uintptr_t)__libc_stack_end;
    if (here > top || getrlimit(RLIMIT_STACK, &limit)) return 0;
    uintptr_t most = limit.rlim_cur == RLIM_INFINITY ? (uintptr_t)1 << 40 : limit.rlim_cur;
    return top - here + ROOM <= most;
}

/* ---- from the loader to the program's end ------------------------------------------------------------------------ */

extern void exit(int) __attribute__((noreturn));

static Surroundings of_host, of_program;

/* Around the constructors of the program: what they set is in force when `main` begins, and not before. */
__attribute__((constructor(1))) static void before_constructors(void) {
    set_aside(&of_host);
    errno = 0;
}
__attribute__((constructor)) static void behind_constructors(void) {
    set_aside(&of_program);
    give_back(&of_host);
}

/* Call `main` as a new process would, and leave. */
__attribute__((noreturn)) void tc_run_main(int (*entry)(int, char **, char **), int count, char **words,
                                           char **environment) {
    give_back(&of_program);
    exit(entry(count, words, environment));
}
