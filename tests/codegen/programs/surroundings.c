/* Everything around a loop that a program can change and look at. Each case changes something, runs two loops that are
   rescheduled, prints all that can be seen behind them, and changes it back. "other" in front: an index differs from
   the traced one, so that the guards refuse. */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <getopt.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <xmmintrin.h>

static int *a, *b;
static int *c;
static double *x, *w, *y, *z, *whole, *zeros, *r, sum;

SHAPE divide(long n, const int *a, const double *x, const double *w, double *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) // @divide
            y[i] = x[a[i]] / w[a[i]];
}

SHAPE widely(long n, const int *b, const double *x, const double *w, double *z)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) // @widely
            z[i] = (double)((long double)x[b[i]] / 3 + (long double)w[b[i]] / 7);
}

/* Sums of few whole numbers and of zeros with a sign: exact in any order. */
__attribute__((noinline)) static double adding(long n, const int *c, const double *whole, const double *zeros, double *r)
{
    double total = 0;
    for (long i = 0; i < n; i++) { // @adding
        r[c[i]] += whole[i];
        total += zeros[c[i]];
    }
    return total;
}

__attribute__((noinline)) static unsigned long hash(const double *x, long n)
{
    unsigned long sum = 0, bits;
    for (long i = 0; i < n; i++) {
        memcpy(&bits, x + i, 8);
        sum = sum * 31 + bits;
    }
    return sum;
}

static unsigned short x87_word(int status)
{
    unsigned short word;
    if (status)
        __asm__ volatile("fnstsw %0" : "=m"(word));
    else
        __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

static void *both(void *unused)
{
    divide(JOBS, a, x, w, y);
    widely(JOBS, b, x, w, z);
    sum = adding(JOBS, c, whole, zeros, r);
    return unused;
}

SHAPE look(const char *name, long argument)
{
    memset(y, 0, JOBS * sizeof *y);
    memset(z, 0, JOBS * sizeof *z);
    for (int i = 0; i < DATA; i++) { /* tiny numbers and zeros that nobody touches stay what they are */
        r[i] = i % 3 == 0 ? 0.0 : i % 3 == 1 ? -0.0 : 5e-324;
        zeros[i] = argument % 2 ? -0.0 : 0.0;
    }
    both(NULL);
    int error = errno;
    unsigned sse = _mm_getcsr();
    unsigned control = x87_word(0), status = x87_word(1) & 0x3f;
    int rounding = fegetround(), raised = fetestexcept(FE_ALL_EXCEPT), enabled = fegetexcept();
    _mm_setcsr(0x1f80);
    __asm__ volatile("fninit");
    printf("%s %ld: %lx %lx %lx %lx errno %d sse %x x87 %x %x rounding %x raised %x traps %x", name, argument, hash(y, JOBS),
           hash(z, JOBS), hash(r, DATA), hash(&sum, 1), error, sse, control, status, rounding, raised, enabled);
    cpu_set_t cpus;
    sigset_t set;
    stack_t stack;
    char folder[4096];
    mode_t mask = umask(0);
    umask(mask);
    sched_getaffinity(0, sizeof cpus, &cpus);
    printf(" cpus %lx", cpus.__bits[0]);
    sigprocmask(SIG_SETMASK, NULL, &set);
    printf(" blocked");
    for (int i = 1; i < 65; i++)
        if (sigismember(&set, i) == 1)
            printf(" %d", i);
    sigpending(&set);
    printf(" pending");
    for (int i = 1; i < 65; i++)
        if (sigismember(&set, i) == 1)
            printf(" %d", i);
    printf(" handled");
    for (int i = 1; i < 65; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            printf(" %d", i);
    }
    sigaltstack(NULL, &stack);
    printf(" stack %d %zu umask %o folder %s", stack.ss_flags, stack.ss_size, mask,
           getcwd(folder, sizeof folder) ? folder : "gone");
    printf(" locale %s %d point %s", setlocale(LC_ALL, NULL), uselocale(0) == LC_GLOBAL_LOCALE,
           localeconv()->decimal_point);
    printf(" descriptors");
    for (int i = 0; i < 1024; i++) {
        int flags = fcntl(i, F_GETFD), modes = fcntl(i, F_GETFL);
        if (flags >= 0 && i > 2)
            printf(" %d:%x:%x:%ld", i, flags, modes, (long)lseek(i, 0, SEEK_CUR));
    }
    printf(" limits");
    for (int i = 0; i < RLIMIT_NLIMITS; i++) {
        struct rlimit limit;
        getrlimit(i, &limit);
        printf(" %lx:%lx", limit.rlim_cur, limit.rlim_max);
    }
    for (int i = 0; i < 3; i++) {
        struct itimerval timer;
        getitimer(i, &timer);
        printf(" timer %d %ld", timer.it_value.tv_sec > 0, timer.it_interval.tv_sec);
    }
    unsigned long names = 0;
    for (char **entry = environ; entry && *entry; entry++)
        for (char *at = *entry; *at; at++)
            names = names * 31 + (unsigned char)*at;
    printf(" environment %lx priority %d policy %d user %d", names, getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
           (int)geteuid());
    printf(" dumpable %d privileges %d slack %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
           prctl(PR_GET_TIMERSLACK));
    errno = 0;
}

/* By a pointer, so that the loops stand in the program once. */
static void (*volatile run)(const char *, long) = look;

SHAPE arithmetic(void)
{
    static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    static const unsigned tiny[] = {0, 0x8000, 0x40, 0x8040};
    static const unsigned short precision[] = {0x300, 0x200, 0};
    for (int mode = 0; mode < 4; mode++)
        for (int flush = 0; flush < 4; flush++)
            for (int wide = 0; wide < 3; wide++)
                for (int raised = 0; raised < 2; raised++) {
                    unsigned short word;
                    fesetround(modes[mode]);
                    _mm_setcsr(_mm_getcsr() | tiny[flush]);
                    word = (x87_word(0) & ~0x300) | precision[wide];
                    __asm__ volatile("fldcw %0" : : "m"(word));
                    if (raised)
                        feraiseexcept(FE_DIVBYZERO | FE_UNDERFLOW);
                    run("arithmetic", mode * 100 + flush * 10 + wide + raised * 1000);
                }
    for (int kind = 0; kind < 4; kind++) {
        unsigned short word = 0x37f & ~(kind == 2 ? FE_INVALID : 0);
        if (kind == 0)
            feenableexcept(FE_DIVBYZERO); /* none occurs */
        if (kind == 1)
            _mm_setcsr(0x1f80 & ~0x80);
        if (kind == 2)
            __asm__ volatile("fldcw %0" : : "m"(word));
        if (kind == 3)
            _mm_setcsr(0x1f80 | 0x3f);
        run("traps", kind);
    }
}

SHAPE signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGFPE, SIGPROF, SIGCHLD, 60};
    sigset_t set, old;
    for (int i = 0; i < 8; i++) {
        sigemptyset(&set);
        for (int j = 0; j <= i; j++)
            sigaddset(&set, numbers[j]);
        sigprocmask(SIG_BLOCK, &set, &old);
        run("blocked", i);
        if (i == 2 || i == 6) {
            raise(i == 2 ? SIGUSR1 : SIGCHLD);
            run("pending", i);
            signal(SIGUSR1, SIG_IGN); /* it is dropped */
            signal(SIGUSR1, SIG_DFL);
        }
        sigprocmask(SIG_SETMASK, &old, NULL);
    }
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, &old);
    run("all blocked", 0);
    raise(SIGCHLD);
    run("and pending", 0);
    sigprocmask(SIG_SETMASK, &old, NULL);
    for (int i = 0; i < 8; i++) {
        signal(numbers[i], SIG_IGN);
        run("ignored", i);
        signal(numbers[i], SIG_DFL);
    }
    static char room[1 << 16];
    stack_t stack = {room, 0, sizeof room}, none = {NULL, SS_DISABLE, 0};
    sigaltstack(&stack, NULL);
    run("alternative stack", 0);
    sigaltstack(&none, NULL);
    for (int i = 0; i < 3; i++) {
        struct itimerval timer = {{1000 + i, 0}, {2000, 0}}, off = {{0, 0}, {0, 0}};
        setitimer(i, &timer, NULL);
        run("timer", i);
        setitimer(i, &off, NULL);
    }
}

SHAPE files(void)
{
    static const char *folders[] = {"/", "/proc/self", "/dev", "/usr"};
    int here = open(".", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 4; i++) {
        if (chdir(folders[i]))
            exit(9);
        if (i != 1) /* its name has the number of the process */
            run("folder", i);
    }
    char gone[] = "/tmp/tracecut-gone-XXXXXX";
    if (!mkdtemp(gone) || chdir(gone) || rmdir(gone))
        exit(9);
    run("folder that is gone", 0);
    if (fchdir(here))
        exit(9);
    for (int i = 0; i < 8; i++) {
        mode_t old = umask((mode_t)(i * 9));
        run("umask", i);
        umask(old);
    }
    run("descriptor", 0);
    int second = open("/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC), third = dup2(here, 900);
    run("descriptor", second);
    run("descriptor", fcntl(here, F_SETFL, O_NONBLOCK));
    close(third);
    int zero = dup(0);
    close(0);
    run("no standard input", 0);
    run("no standard input", open("/dev/zero", O_RDONLY));
    dup2(zero, 0);
    int two = dup(2);
    close(2);
    run("no standard error", 0);
    dup2(two, 2);
    close(zero);
    close(two);
    close(second);
    close(here);
    struct rlimit old, few;
    getrlimit(RLIMIT_NOFILE, &old);
    few = (struct rlimit){3, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    run("no descriptor is left", 0);
    run("no descriptor is left", open("/dev/null", O_RDONLY));
    setrlimit(RLIMIT_NOFILE, &old);
    run("next descriptor", open("/dev/null", O_RDONLY));
    close(3);
}

SHAPE limits(void)
{
    static const struct { int which; unsigned long value; } table[] = {
        {RLIMIT_CPU, 5000},      {RLIMIT_FSIZE, 1 << 20}, {RLIMIT_DATA, 1ul << 30}, {RLIMIT_DATA, 1 << 20},
        {RLIMIT_STACK, 1 << 20}, {RLIMIT_STACK, 1 << 16}, {RLIMIT_CORE, 0},         {RLIMIT_RSS, 1 << 20},
        {RLIMIT_NOFILE, 16},     {RLIMIT_AS, 1ul << 35},  {RLIMIT_AS, 1 << 20},     {RLIMIT_SIGPENDING, 10},
        {RLIMIT_NICE, 0},        {RLIMIT_LOCKS, 4},       {RLIMIT_NPROC, 1},        {RLIMIT_MEMLOCK, 1 << 16}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
        struct rlimit old, now;
        getrlimit(table[i].which, &old);
        now = (struct rlimit){table[i].value < old.rlim_max ? table[i].value : old.rlim_max, old.rlim_max};
        setrlimit(table[i].which, &now);
        run("limit", i);
        setrlimit(table[i].which, &old);
    }
}

SHAPE process(void)
{
    static const int errors[] = {0, ENOENT, EINTR, EAGAIN, ENOMEM, EDOM, ERANGE, 12345, -1};
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        errno = errors[i];
        run("errno", i);
    }
    cpu_set_t all, few;
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < 4; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_ZERO(&few);
            CPU_SET(i, &few);
            sched_setaffinity(0, sizeof few, &few);
            run("one CPU", i);
            sched_setaffinity(0, sizeof all, &all);
            run("all CPUs", i);
        }
    static const char *locales[] = {"C.UTF-8", "POSIX", "", "de_DE.UTF-8"};
    for (int i = 0; i < 4; i++) {
        setlocale(i == 2 ? LC_NUMERIC : LC_ALL, locales[i]);
        run("locale", i);
        locale_t own = newlocale(LC_ALL_MASK, locales[i], (locale_t)0);
        if (own) {
            uselocale(own);
            run("thread's locale", i);
            uselocale(LC_GLOBAL_LOCALE);
            freelocale(own);
        }
        setlocale(LC_ALL, "C");
    }
    static const char *names[] = {"PYTHONHOME", "PYTHONPATH", "LD_PRELOAD", "LC_ALL", "TZ", "OMP_NUM_THREADS", "PATH"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        char *before = getenv(names[i]), *kept = before ? strdup(before) : NULL;
        setenv(names[i], "/nowhere", 1);
        run("variable", i);
        unsetenv(names[i]);
        run("no variable", i);
        if (kept)
            setenv(names[i], kept, 1);
    }
    char **whole = environ, *none[] = {NULL};
    environ = none;
    run("no environment", 0);
    environ = NULL;
    run("no environment", 1);
    environ = whole;
    prctl(PR_SET_DUMPABLE, 0);
    run("not dumpable", 0);
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_TIMERSLACK, 100000);
    run("timer slack", 0);
    struct sched_param parameter = {0};
    sched_setscheduler(0, SCHED_BATCH, &parameter);
    run("batch", 0);
    sched_setscheduler(0, SCHED_OTHER, &parameter);
    if (geteuid() == 0 && seteuid(65534) == 0) {
        run("another user", 0);
        if (seteuid(0))
            exit(9);
    }
    srand(5), srandom(6), srand48(7);
    run("random", rand() % 1000);
    printf("then %d %ld %ld\n", rand(), random(), lrand48());
    char text[] = "one two three", *words[] = {"p", "-a", "-b", "rest", NULL};
    time_t moment = 86400;
    const char *token = strtok(text, " ");
    const struct tm *parts = gmtime(&moment);
    int option = getopt(4, words, "abc");
    const char *fault = strerror(12345);
    run(token, option);
    printf("then %s %d %c %s\n", strtok(NULL, " "), parts->tm_mday, getopt(4, words, "abc"), fault);
}

static ucontext_t back, there;
static void on_another_stack(void) { run("another stack", 0); }

/* Called so deep that next to nothing of the stack is left. */
static __attribute__((noinline)) void deeply(long bytes)
{
    volatile char *room = __builtin_alloca((size_t)bytes);
    room[0] = room[bytes - 1] = 1;
    run("deep in the stack", 0);
    room[1] = 0;
}

SHAPE stacks(void)
{
    static char room[1 << 18];
    getcontext(&there);
    there.uc_stack.ss_sp = room;
    there.uc_stack.ss_size = sizeof room;
    there.uc_link = &back;
    makecontext(&there, on_another_stack, 0);
    swapcontext(&back, &there);
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur != RLIM_INFINITY)
        deeply((long)limit.rlim_cur - (256 << 10));
    deeply(1 << 18);
}

int main(int argc, char **argv)
{
    a = permutation(JOBS), b = permutation(JOBS);
    x = reals(JOBS, 1000), w = reals(JOBS, 1000), y = reals(JOBS, 9), z = reals(JOBS, 9);
    c = ints(JOBS, DATA / 3), whole = reals(JOBS, 100), zeros = reals(DATA, 2), r = reals(DATA, 2);
    for (int i = 0; i < JOBS; i++)
        c[i] *= 3;
    for (int i = 0; i < JOBS; i++) { /* tiny, huge, and no numbers */
        x[i] = i % 11 == 0 ? (x[i] + 1) * 1e-310 : i % 13 == 0 ? (x[i] + 1) * 1e305 : x[i] + 0.1;
        w[i] = i % 7 == 0 ? (w[i] + 1) * 1e-312 : i % 17 == 0 ? (w[i] + 1) * 1e-5 : w[i] + 0.3;
    }
    if (argc > 1 && argv[1][0] == 'o') {
        int t = a[5];
        a[5] = a[9], a[9] = t, c[7] = (c[7] + 3) % 198;
        t = b[JOBS - 1], b[JOBS - 1] = b[0], b[0] = t;
    }
    run("start", 0);
    arithmetic();
    signals();
    files();
    limits();
    process();
    stacks();
    run("end", 0);
    return 0;
}
