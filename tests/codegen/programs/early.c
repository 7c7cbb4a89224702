/* Loops that something may end before their last iteration. The first argument says in which of them it does. */
static bool is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

static void fail(long at)
{
    printf("bad index at %ld\n", at);
    exit(3);
}

SHAPE checked(long n, const int *a, const long *x, long *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long e = 0; e < n; e++) { // @checked
            if (a[e] < 0 || a[e] >= DATA)
                fail(e);
            y[a[e]] += x[e];
        }
}

/* The value of the counter is used behind the loop. */
SHAPE searched(long n, const int *a, const double *gate, const long *x, long *y)
{
    long e;
    for (e = 0; e < n; e++) { // @searched
        if (gate[e] > 4)
            break;
        y[a[e]] += 3 * x[e];
    }
    printf("searched %ld\n", e);
}

SHAPE both(long n, const int *a, const int *on, const long *x, long *y)
{
    long e = 0;
    int last;
    do { // @both
        last = on[e];
        y[a[e]] += x[e] * 5;
        e++;
    } while (e < n && last < 8);
    printf("both %ld\n", e);
}

SHAPE late(long n, const int *a, const int *on, const long *x, long *y)
{
    for (long e = 0; e < n; e++) { // @late
        y[a[e]] += x[e];
        if (on[e] > 7)
            return;
        y[a[e] + DATA] += x[e];
    }
    puts("late: all");
}

/* Left in the run that is traced: no order but the program's own. */
SHAPE taken(long n, const int *a, const double *gate, long *y)
{
    for (long e = 0; e < n; e++) { // left early
        if (gate[e] > 1.5)
            break;
        y[a[e]] += e;
    }
}

/* What ends the loop is what the loop computes. */
SHAPE written(long n, const int *a, const long *x, long *y)
{
    for (long e = 0; e < n; e++) { // @written
        if (y[a[e]] > 1000000)
            break;
        y[a[e]] += x[e];
    }
}

/* Rows that a negative number ends; behind it anything may lie. */
SHAPE ended(long n, const int *row, const long *x, long *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long e = 0; e < n; e++) // @ended
            for (int k = 0; k < 4; k++) {
                if (row[4 * e + k] < 0)
                    break;
                y[row[4 * e + k]] += x[e];
            }
}

/* How far a row is read depends on data that no guard asks for. */
SHAPE open_ended(long n, const int *row, const double *gate, const long *x, long *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long e = 0; e < n; e++) // @open_ended
            for (int k = 0; k < 4; k++) {
                y[row[4 * e + k]] += x[e];
                if (gate[e] > k)
                    break;
            }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "same";
    int *a = ints(JOBS, DATA), *on = ints(JOBS, 3);
    long *x = longs(JOBS, 100), *y = longs(2 * DATA, 9);
    double *gate = reals(JOBS, 2), *ends = reals(JOBS, 2);
    ends[JOBS / 2] = 2;
    if (is(mode, "searched"))
        gate[333] = 5;
    if (is(mode, "first"))
        gate[0] = 5;
    if (is(mode, "quiet")) /* other numbers, and still nothing ends early */
        gate[100] = 3, on[100] = 7;
    if (is(mode, "both"))
        on[JOBS - 2] = 8;
    if (is(mode, "late"))
        on[0] = 8;
    searched(JOBS, a, gate, x, y);
    show("y", y, 2 * DATA);
    both(JOBS, a, on, x, y);
    show("y", y, 2 * DATA);
    late(JOBS, a, on, x, y);
    show("y", y, 2 * DATA);
    taken(JOBS, a, ends, y);
    written(JOBS, a, x, y);
    show("y", y, 2 * DATA);
    int *row = ints(4 * JOBS, DATA), *full = ints(4 * JOBS, DATA);
    for (int e = 0; e < JOBS; e++)
        if (e % 5 < 4)
            row[4 * e + e % 5] = -1;
    for (int k = 5; k < 8; k++)
        row[k] = k == 5 ? -1 : 1 << 29;
    if (is(mode, "ended"))
        row[4] = -1;
    if (is(mode, "open"))
        for (int e = 0; e < JOBS; e++)
            gate[e] = 3 - gate[e];
    ended(JOBS, row, x, y);
    show("y", y, 2 * DATA);
    open_ended(JOBS, full, gate, x, y);
    show("y", y, 2 * DATA);
    if (is(mode, "checked"))
        a[400] = -1;
    checked(JOBS, a, x, y);
    show("y", y, 2 * DATA);
    return 0;
}
