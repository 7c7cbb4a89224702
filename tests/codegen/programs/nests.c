/* Scopes of several levels, and what runs seldom in them. The first word says how often: every n-th step. */
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 12
static long every = 5;
static unsigned long sink;

#define EDGES(X, R, W)                                                                                                \
    R[a[j]] += W[j] * (X[b[j]] - X[a[j]]);                                                                            \
    R[b[j]] -= W[j] * (X[b[j]] - X[a[j]])
#define GIVEN int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA)
#define VALUES long *x = longs(DATA, 1000), *r = longs(DATA, 1000), *w = longs(JOBS, 9)

static int same(const void *a, const void *b) { return a == b ? 0 : sink > 0; }

/* Order decides: a hash of what lies in memory, as it lies there; the library may look at it too. */
static void hash(const long *x)
{
    qsort((void *)x, 1, sizeof *x, same);
    for (long i = 0; i < DATA; i++)
        sink = sink * 31 + (unsigned long)x[i];
}

SHAPE stages(void)
{
    GIVEN;
    VALUES;
    long *old = longs(DATA, 10);
    for (int t = 0; t < SWEEPS; t++) {
        memcpy(old, x, DATA * sizeof *x);
        for (int s = 1; s < 4; s++) {
            for (long i = 0; i < DATA; i++)
                r[i] = 0;
            for (long j = 0; j < JOBS; j++) { // @stages
                EDGES(x, r, w);
            }
            for (long i = 0; i < DATA; i++)
                x[i] = old[i] + s * (r[i] & 7);
        }
    }
    show("stages", x, DATA);
}

SHAPE until_small(void)
{
    GIVEN;
    VALUES;
    for (int t = 0; t < SWEEPS; t++) {
        long most = 0, tries = 0;
        do {
            for (long j = 0; j < JOBS; j++) { // @until_small
                EDGES(x, r, w);
            }
            most = 0;
            for (long i = 0; i < DATA; i++) {
                x[i] = (x[i] + r[i]) & 1023;
                most += x[i];
            }
        } while (most % 7 != 0 && ++tries < 6);
        printf("until %ld %ld\n", most, tries);
    }
    show("until_small", x, DATA);
}

SHAPE shrinking(void) /* a stage decides how long the region is: no scope around the stages */
{
    GIVEN;
    VALUES;
    for (int t = 0; t < SWEEPS; t++)
        for (int s = 0; s < 3; s++) {
            for (long j = 0; j < JOBS - 10 * s; j++) { // @shrinking
                EDGES(x, r, w);
            }
            for (long i = 0; i < DATA; i++)
                x[i] += r[i] & 3;
        }
    show("shrinking", x, DATA);
}

SHAPE staged_indices(void) /* each stage has indices of its own */
{
    int *a = ints(3 * JOBS, DATA);
    long *x = longs(DATA, 1000), *r = longs(DATA, 1000);
    for (int t = 0; t < SWEEPS; t++)
        for (int s = 0; s < 3; s++) {
            for (long j = 0; j < JOBS; j++) // @staged_indices
                r[a[s * JOBS + j]] += x[a[s * JOBS + j]] & 15;
            for (long i = 0; i < DATA; i++)
                x[i] += r[i] & 3;
        }
    show("staged_indices", r, DATA);
}

SHAPE copied_shifted(void) /* the copy begins at another record */
{
    GIVEN;
    VALUES;
    long *old = longs(DATA + 1, 10);
    for (int t = 0; t < STEPS; t++) {
        memcpy(old + 1, x, DATA * sizeof *x);
        for (long j = 0; j < JOBS; j++) { // @copied_shifted
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] = old[i + 1] + (r[i] & 7);
    }
    show("copied_shifted", x, DATA);
}

SHAPE copied_apart(void) /* the copy is read in the order of memory */
{
    GIVEN;
    VALUES;
    long *old = longs(DATA, 10);
    for (int t = 0; t < STEPS; t++) {
        memcpy(old, x, DATA * sizeof *x);
        for (long i = 1; i < DATA; i++)
            old[i] = old[i - 1] * 3 + old[i];
        for (long j = 0; j < JOBS; j++) { // @copied_apart
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 7;
        sink += (unsigned long)old[DATA - 1];
    }
    show("copied_apart", x, DATA);
}

SHAPE copied_only(void) /* what was before, and before that: nothing else is done with it here */
{
    GIVEN;
    VALUES;
    long *old = longs(DATA, 10), *older = longs(DATA + 2, 10);
    for (int t = 0; t < STEPS; t++) {
        memcpy(older + 1, old, DATA * sizeof *x);
        memcpy(old, x, DATA * sizeof *x);
        for (long j = 0; j < JOBS; j++) { // @copied_only
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 7;
    }
    show("copied_only", x, DATA);
    show("copied_only", old, DATA);
    show("copied_only", older, DATA + 2);
}

SHAPE copied_twice(void) /* from records of 8 bytes and from pairs of them: neither is what it has */
{
    GIVEN;
    VALUES;
    long *old = longs(2 * DATA, 10), (*pair)[2] = malloc(DATA * sizeof *pair);
    memcpy(pair, old, DATA * sizeof *pair);
    for (int t = 0; t < STEPS; t++) {
        memcpy(old, pair, DATA * sizeof *pair);
        memcpy(old, x, DATA * sizeof *x);
        for (long j = 0; j < JOBS; j++) { // @copied_twice
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 7, pair[i][1] += x[i], pair[i][0] ^= x[i];
    }
    show("copied_twice", x, DATA);
    show("copied_twice", old, 2 * DATA);
}

SHAPE copied_kept(void) /* to what is read beside its index too, and stays */
{
    GIVEN;
    VALUES;
    long *old = longs(DATA + 1, 10);
    for (int t = 0; t < STEPS; t++) {
        memcpy(old, x, DATA * sizeof *x);
        for (long j = 0; j < JOBS; j++) { // @copied_kept
            EDGES(x, r, w);
            r[a[j]] += old[b[j]] + old[b[j] + 1];
        }
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 7;
    }
    show("copied_kept", x, DATA);
}

SHAPE copied_swapped(void) /* what was before is kept in the other of two buffers */
{
    GIVEN;
    VALUES;
    long *old = longs(DATA, 10);
    for (int t = 0; t < STEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @copied_swapped
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 7;
        long *z = x;
        x = old;
        old = z;
        memcpy(x, old, DATA * sizeof *x);
    }
    show("copied_swapped", x, DATA);
    show("copied_swapped", old, DATA);
}

SHAPE copied_and_filled(void)
{
    GIVEN;
    VALUES;
    long *old = longs(DATA, 10);
    for (int t = 0; t < STEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @copied_and_filled
            EDGES(x, r, w);
        }
        memcpy(old, x, (DATA - 20) * sizeof *x);
        memset(old + DATA - 20, 0, 20 * sizeof *x);
        for (long i = 0; i < DATA; i++)
            x[i] += r[i] & 7;
    }
    show("copied_and_filled", x, DATA);
    show("copied_and_filled", old, DATA);
}

SHAPE copied_half(void) /* and this one ends in the middle */
{
    GIVEN;
    VALUES;
    long *old = longs(DATA, 10);
    for (int t = 0; t < STEPS; t++) {
        memcpy(old, x, DATA / 2 * sizeof *x);
        for (long j = 0; j < JOBS; j++) { // @copied_half
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] = old[i] + (r[i] & 7);
    }
    show("copied_half", x, DATA);
}

#define STEP(NAME, RARE)                                                                                              \
    for (int t = 0; t < STEPS; t++) {                                                                                 \
        for (long j = 0; j < JOBS; j++) { /* the region */                                                            \
            EDGES(x, r, w);                                                                                           \
        }                                                                                                             \
        for (long i = 0; i < DATA; i++)                                                                               \
            x[i] = (x[i] + r[i]) & 4095;                                                                              \
        if (t % every == every - 1) {                                                                                 \
            RARE;                                                                                                     \
        }                                                                                                             \
    }                                                                                                                 \
    show(NAME, x, DATA)

SHAPE dumping(void)
{
    GIVEN;
    VALUES;
    STEP("dumping", hash(x); printf("step %d %lu\n", t, sink)); // @dumping
}

SHAPE hashing(void) /* no call: only the order of memory decides */
{
    GIVEN;
    VALUES;
    STEP("hashing", hash(x); hash(r)); // @hashing
}

SHAPE rewiring(void) /* the indices change: the layout does not come back */
{
    GIVEN;
    VALUES;
    STEP("rewiring", for (long j = 0; j < JOBS; j++) a[j] = (a[j] + 1) % DATA); // @rewiring
}

SHAPE rewriting(void) /* they are written as they were: it does */
{
    GIVEN;
    VALUES;
    STEP("rewriting", for (long j = 0; j < JOBS; j++) a[j] = a[j] ^ (int)(every == -1)); // @rewriting
}

SHAPE reweighing(void) /* what the region has a copy of changes */
{
    GIVEN;
    VALUES;
    STEP("reweighing", for (long j = 0; j < JOBS; j++) w[j] = w[j] * 3 % 11 + (j & 1); hash(x)); // @reweighing
}

SHAPE replacing(void)
{
    GIVEN;
    VALUES;
    STEP("replacing", // @replacing
         long *y = malloc(DATA * sizeof *y); for (long i = 0; i < DATA; i++) y[i] = x[i] + i; hash(y); x = y);
}

SHAPE replacing_other(void) /* an array that no region reaches, but a loop that walks the same numbers */
{
    GIVEN;
    VALUES;
    long *y = longs(DATA, 9);
    for (int t = 0; t < STEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @replacing_other
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++) {
            y[i] = y[i] * 3 + r[i];
            x[i] = (x[i] + y[i]) & 4095;
        }
        if (t % every == every - 1) {
            long *z = malloc(DATA * sizeof *z);
            for (long i = 0; i < DATA; i++)
                z[i] = y[i] ^ i;
            y = z;
        }
    }
    show("replacing_other", x, DATA);
    show("replaced", y, DATA);
}

typedef struct {
    long *x, *spare;
} Pair;

static Pair *volatile shared;

SHAPE member(void) /* the pointer in memory changes, and the step goes on with the one that it has read */
{
    GIVEN;
    VALUES;
    Pair *pair = malloc(sizeof *pair);
    pair->x = x;
    pair->spare = longs(DATA, 9);
    shared = pair;
    for (int t = 0; t < STEPS; t++) {
        long *now = pair->x;
        if (t % every == every - 1) {
            long *other = pair->spare;
            for (long i = 0; i < DATA; i++)
                other[i] = now[i] + i;
            pair->spare = now;
            pair->x = other;
            hash(other);
            printf("other\n");
        }
        for (long j = 0; j < JOBS; j++) { // @member
            EDGES(now, r, w);
        }
        for (long i = 0; i < DATA; i++)
            now[i] = (now[i] + r[i]) & 4095;
    }
    show("member", pair->x, DATA);
    show("spare", pair->spare, DATA);
}

static __attribute__((noinline)) long recursive(long depth, int *a, int *b, long *x, long *r, long *w)
{
    for (int t = 0; t < STEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @recursing
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] = (x[i] + r[i]) & 4095;
        if (t % every == every - 1) {
            hash(x);
            if (depth > 0 && recursive(depth - 1, a, b, x, r, w) == 5)
                return 5;
            hash(x);
        }
    }
    return (long)(sink % 7);
}

SHAPE recursing(void)
{
    GIVEN;
    VALUES;
    long got = recursive(1, a, b, x, r, w);
    show("recursing", x, DATA);
    printf("recursive %ld\n", got);
}

static jmp_buf target;
static __attribute__((noinline)) void leap(long *x)
{
    hash(x);
    if (sink % 2 == 0 && every > 2)
        longjmp(target, 1);
}

SHAPE leaping(void)
{
    GIVEN;
    VALUES;
    if (!setjmp(target)) {
        STEP("leaping", leap(x)); // @leaping
    }
    hash(x);
}

SHAPE forking(void)
{
    GIVEN;
    VALUES;
    for (int t = 0; t < STEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @forking
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            x[i] = (x[i] + r[i]) & 4095;
        if (t % every == every - 1) {
            int status = 0;
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) { /* goes on with its own data, and says what became of them */
                for (long j = 0; j < JOBS; j++)
                    x[a[j]] += t;
                hash(x);
                _exit((int)(sink & 63));
            }
            waitpid(child, &status, 0);
            printf("child %d\n", WEXITSTATUS(status));
        }
    }
    show("forking", x, DATA);
}

static volatile long width = 5;

SHAPE varying(void) /* an array of variable length that has nothing to do with the data */
{
    GIVEN;
    VALUES;
    long n = width;
    for (int t = 0; t < STEPS; t++) {
        long few[n];
        for (long j = 0; j < JOBS; j++) { // @varying
            EDGES(x, r, w);
        }
        for (long k = 0; k < n; k++)
            few[k] = k * t;
        for (long i = 0; i < DATA; i++)
            x[i] = (x[i] + r[i] + few[n - 1]) & 4095;
        sink += (unsigned long)few[n / 2];
    }
    show("varying", x, DATA);
}

SHAPE varying_copy(void) /* one that takes the data over, in the order of memory */
{
    GIVEN;
    VALUES;
    long n = width;
    for (int t = 0; t < STEPS; t++) {
        long few[DATA + n];
        for (long j = 0; j < JOBS; j++) { // @varying_copy
            EDGES(x, r, w);
        }
        for (long i = 0; i < DATA; i++)
            few[i] = x[i] + 1;
        for (long i = 0; i < DATA; i++)
            x[i] = (x[i] + r[i]) & 4095;
        for (long i = 0; i < DATA; i++)
            sink = sink * 31 + (unsigned long)few[i];
    }
    show("varying_copy", x, DATA);
}

static long *watched;
static void last_words(void) { show("last words", watched, DATA); }

SHAPE giving_up(void)
{
    GIVEN;
    VALUES;
    watched = x;
    atexit(last_words);
    STEP("giving_up", hash(x); if (sink % 5 == 0 && every == 3) exit(4)); // @giving_up
}

int main(int argc, char **argv)
{
    if (argc > 1)
        every = atol(argv[1]);
    stages();
    until_small();
    shrinking();
    staged_indices();
    copied_shifted();
    copied_apart();
    copied_half();
    copied_swapped();
    copied_and_filled();
    copied_kept();
    copied_only();
    copied_twice();
    dumping();
    hashing();
    rewiring();
    rewriting();
    reweighing();
    replacing();
    replacing_other();
    member();
    recursing();
    leaping();
    leaping(); /* the scope was not left the first time */
    forking();
    varying();
    varying_copy();
    giving_up();
    printf("%lu\n", sink);
    return 0;
}
