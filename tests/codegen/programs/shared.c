/* Arrays in memory that is not the program's alone: the first argument says where they lie. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
static double x[4 * PAGE / 8] __attribute__((aligned(PAGE))), y[4 * PAGE / 8] __attribute__((aligned(PAGE)));
static int a[4 * PAGE / 4] __attribute__((aligned(PAGE))), b[4 * PAGE / 4] __attribute__((aligned(PAGE)));

SHAPE gather(long n, const int *a, const int *b, const double *x, double *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) // @gather
            y[a[i]] = 3 * y[a[i]] + x[b[i]];
}

static int is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

static void over(void *at, size_t size, int flags, int file, int rights)
{
    if (mmap(at, size, rights, flags | MAP_FIXED, file, 0) != at)
        exit(9);
}

static void fill(void)
{
    state_ = 1;
    for (long i = 0; i < JOBS; i++)
        a[i] = (int)i, x[i] = i, y[i] = 0.5;
    for (long i = JOBS - 1; i > 0; i--) {
        long j = draw() % (unsigned)(i + 1);
        int t = a[i];
        a[i] = a[j], a[j] = t;
    }
    for (long i = 0; i < JOBS; i++)
        b[i] = (int)(draw() % JOBS);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "own";
    int both = PROT_READ | PROT_WRITE, memory = memfd_create("pages", 0);
    if (memory < 0 || ftruncate(memory, 4 * PAGE))
        return 9;
    if (is(mode, "anonymous") || is(mode, "child"))
        over(x, PAGE * 2, MAP_SHARED | MAP_ANONYMOUS, -1, both);
    if (is(mode, "last page"))
        over((char *)x + PAGE, PAGE, MAP_SHARED | MAP_ANONYMOUS, -1, both);
    if (is(mode, "index"))
        over(b, sizeof b, MAP_SHARED | MAP_ANONYMOUS, -1, both);
    if (is(mode, "file") || is(mode, "twice") || is(mode, "elsewhere"))
        over(x, sizeof x, MAP_SHARED, memory, both);
    if (is(mode, "twice"))
        over(y, sizeof y, MAP_SHARED, memory, both);
    if (is(mode, "elsewhere") && mmap(NULL, PAGE, both, MAP_SHARED, memory, 0) == MAP_FAILED)
        return 9;
    if (is(mode, "segment")) {
        int id = shmget(IPC_PRIVATE, sizeof x, IPC_CREAT | 0600);
        void *at = id < 0 ? NULL : shmat(id, x, SHM_REMAP);
        if (id >= 0)
            shmctl(id, IPC_RMID, NULL);
        if (at != (void *)x)
            over(x, sizeof x, MAP_SHARED | MAP_ANONYMOUS, -1, both); /* there is none on this machine */
    }
    fill();
    if (is(mode, "private file")) { /* pages that were not written yet show what is written under another address */
        if (pwrite(memory, x, sizeof x, 0) != sizeof x)
            return 9;
        over(x, sizeof x, MAP_PRIVATE, memory, both);
        if (mmap(NULL, PAGE, both, MAP_SHARED, memory, 0) == MAP_FAILED)
            return 9;
    }
    if (is(mode, "read only"))
        mprotect(x, sizeof x, PROT_READ);
    if (is(mode, "private"))
        over((char *)y + 3 * PAGE, PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1, both);
    if (is(mode, "protected"))
        mprotect((char *)x + 3 * PAGE, PAGE, PROT_NONE);
    if (is(mode, "gone"))
        munmap((char *)x + 3 * PAGE, PAGE);
    if (is(mode, "ring")) {
        unsigned words[30] = {0};
        long ring = syscall(425, 4, words); /* io_uring_setup */
        if (ring >= 0 && mmap(NULL, PAGE, both, MAP_SHARED, (int)ring, 0) == MAP_FAILED)
            return 9;
        unsigned long context = 0;
        if (ring < 0 && syscall(SYS_io_setup, 4, &context)) /* not allowed either: another refusal, to be seen */
            over(x, sizeof x, MAP_SHARED | MAP_ANONYMOUS, -1, both);
    }
    if (is(mode, "child")) {
        pid_t child = fork();
        if (child == 0) { /* both processes run the loop, one after the other */
            gather(JOBS, a, b, x, y);
            for (int i = 0; i < JOBS; i++)
                x[i] += y[i];
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    gather(JOBS, a, b, x, y);
    show_reals("y", y, JOBS);
    show_reals("x", x, JOBS);
    return 0;
}
