/* Sweeps over edges, with other edges where the first word says so; the second is the step at which something happens. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 40

static pid_t other_ = 0;

static void happens(const char *what, int *a)
{
    if (!strcmp(what, "rewrite"))
        a[5] = (a[5] + 1) % DATA;
    if (!strcmp(what, "exit"))
        exit(3);
    if (!strcmp(what, "kill"))
        raise(SIGKILL);
    if (!strcmp(what, "exec")) {
        execl("/bin/echo", "echo", "another program", (char *)0);
        abort();
    }
    if (!strcmp(what, "fork")) {
        int status = 0;
        if (fork() == 0)
            _exit(7);
        pid_t first = wait(&status); /* finds this child, and no other one */
        printf("%d %d %d\n", first > 0, WEXITSTATUS(status), (int)waitpid(-1, NULL, WNOHANG));
        fflush(stdout);
    }
    if (!strcmp(what, "both")) /* go on to the end */
        other_ = fork();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "same";
    int when = argc > 2 ? atoi(argv[2]) : -1;
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    if (strcmp(what, "same"))
        a[77] = (a[77] + 1) % DATA;
    for (int t = 0; t < STEPS; t++) {
        for (long e = 0; e < JOBS; e++) // @beside
            y[a[e]] += x[b[e]] + e;
        for (long v = 0; v < DATA; v++)
            x[v] = (x[v] + y[v]) % 1000;
        if (t == when)
            happens(what, a);
    }
    unsigned long sum = 0;
    for (long v = 0; v < DATA; v++)
        sum = sum * 31 + (unsigned long)(x[v] + 7 * y[v]);
    if (other_ > 0)
        waitpid(other_, NULL, 0);
    printf("%lu\n", sum);
    return 0;
}
