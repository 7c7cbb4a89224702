/* Ways out of a layout scope. Whoever looks at the data behind it sees them in the program's order. */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static int *a_, *b_, entered_;
static long *x_, *y_;
static jmp_buf back_;
static sigjmp_buf away_;

static void report(void)
{
    show("x", x_, DATA);
    show("y", y_, DATA);
    fflush(stdout);
}

static bool is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

SHAPE breaking(long limit)
{
    for (int t = 0; t < 50; t++) {
        long sum = 0;
        for (int e = 0; e < JOBS; e++) // @breaking
            y_[a_[e]] += x_[b_[e]];
        for (int v = 0; v < DATA; v++)
            sum += y_[v];
        if (sum > limit)
            break;
    }
}

SHAPE returning(long limit)
{
    for (int t = 0; t < 50; t++) {
        long sum = 0;
        for (int e = 0; e < JOBS; e++) // @returning
            y_[a_[e]] += x_[b_[e]];
        for (int v = 0; v < DATA; v++)
            sum += y_[v];
        if (sum > limit) {
            y_[0] += 1000;
            return;
        }
        if (sum < 0)
            goto out;
    }
    y_[1] += 1000;
out:
    y_[2] += 1000;
}

SHAPE nested(int outer) /* scopes that follow each other in a loop, entered again and again */
{
    for (int o = 0; o < outer; o++) {
        for (int t = 0; t < SWEEPS; t++) {
            for (int e = 0; e < JOBS; e++) // @nested
                y_[a_[e]] += x_[b_[e]] + o;
            for (int v = 0; v < DATA; v++)
                x_[v] += y_[v] & 1;
        }
        printf("%ld %ld\n", x_[7], y_[o % DATA]);
        x_[(o * 31) % DATA] += o;
        getuid(); /* its effects are not known: no scope around it */
    }
}

static void deeper(int depth)
{
    for (int t = 0; t < 2; t++) {
        for (int e = 0; e < JOBS; e++) // @recursive
            y_[a_[e]] += x_[b_[e]] + depth;
        for (int v = 0; v < DATA; v++)
            x_[v] += y_[v] & 1;
    }
    if (depth > 0) {
        x_[depth] ^= depth;
        deeper(depth - 1);
        y_[depth] += x_[depth + 1];
    }
}

SHAPE leaving(const char *how, long limit) /* by a call that does not come back */
{
    for (int t = 0; t < 50; t++) {
        long sum = 0;
        for (int e = 0; e < JOBS; e++) // @leaving
            y_[a_[e]] += x_[b_[e]];
        for (int v = 0; v < DATA; v++)
            sum += y_[v];
        if (sum > limit) {
            if (is(how, "exit"))
                exit(3);
            if (is(how, "quick"))
                report(), _exit(4);
            if (is(how, "abort"))
                report(), abort();
            if (is(how, "raise"))
                report(), raise(SIGTERM);
            if (is(how, "longjmp"))
                longjmp(back_, 1);
        }
    }
}

static void handler(int number)
{
    (void)number;
    siglongjmp(away_, 1);
}

SHAPE interrupted(int sweeps) /* the data that it reads stay as they are, whenever it ends */
{
    for (int t = 0; t < sweeps; t++) {
        for (int e = 0; e < JOBS; e++) // @interrupted
            y_[a_[e]] += x_[b_[e]];
        for (int v = 0; v < DATA; v++)
            y_[v] &= 0xffff;
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "all";
    a_ = ints(JOBS, DATA), b_ = ints(JOBS, DATA), x_ = longs(DATA, 100), y_ = longs(DATA, 9);
    if (is(how, "exit"))
        atexit(report);
    interrupted(3), report();
    if (is(how, "signal")) {
        struct itimerval soon = {{0, 0}, {0, 50000}};
        signal(SIGALRM, handler);
        setitimer(ITIMER_REAL, &soon, NULL);
        if (sigsetjmp(away_, 1) == 0)
            interrupted(2000000000);
        show("x", x_, DATA);
        return 0;
    }
    breaking(200000), report();
    returning(is(how, "end") ? 1L << 60 : 1000000), report();
    nested(is(how, "many") ? 200 : 4), report();
    deeper(3), report();
    for (entered_ = 0; entered_ < 3; entered_++)
        if (setjmp(back_) == 0)
            leaving(how, (is(how, "all") ? 1L << 60 : 0) + entered_);
        else
            report();
    report();
    return 0;
}
