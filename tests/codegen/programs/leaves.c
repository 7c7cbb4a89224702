/* Loops that end where a computed number is out of its bounds. The first argument says in which of them one is, the
 * second one in which sweep: what is added to x in front of the next one is 0 otherwise. */
#define LIMIT 1e6

static void fail(long at, double found)
{
    printf("%g at %ld\n", found, at);
    exit(3);
}

SHAPE fails(long n, const int *a, double *x, double *y, const double *more)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long e = 0; e < n; e++) { // @fails
            double sum = x[a[2 * e]] + x[a[2 * e + 1]];
            if (sum > LIMIT)
                fail(e, sum);
            y[e] = 0.5 * sum + t;
        }
        for (long e = 0; e < n; e++)
            x[e] = 0.25 * y[e] + more[t * n + e];
    }
}

/* What the iterations before have stored stays, and the counter is used behind the loop. */
SHAPE breaks(long n, const int *a, double *x, double *y, const double *more)
{
    for (int t = 0; t < SWEEPS; t++) {
        long e;
        for (e = 0; e < n; e++) { // @breaks
            double sum = x[a[2 * e]] + x[a[2 * e + 1]];
            if (!(sum < LIMIT))
                break;
            y[e] += 0.5 * sum + t;
        }
        if (e < n)
            printf("broken at %ld\n", e);
        for (long k = 0; k < n; k++)
            x[k] = 0.25 * y[k] + more[t * n + k];
    }
}

static long swept(long n, const int *a, const double *x, double *y)
{
    for (long e = 0; e < n; e++) { // @returns
        double sum = 0;
        for (int k = 0; k < 6; k++) {
            if (x[a[6 * e + k]] > LIMIT)
                return e;
            sum += x[a[6 * e + k]];
        }
        if (sum < -LIMIT)
            return -e;
        y[e] = sum;
    }
    return n;
}

SHAPE returns(long n, const int *a, double *x, double *y, const double *more)
{
    long found = 0;
    for (int t = 0; t < SWEEPS; t++) {
        found += swept(n, a, x, y);
        for (long e = 0; e < n; e++)
            x[e] = 0.125 * y[e] + more[t * n + e];
    }
    printf("returned %ld\n", found);
}

/* Sums of what several iterations add. */
SHAPE adds(long n, const int *a, double *x, double *y, const double *more)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long e = 0; e < n; e++) { // @adds
            double flux = x[a[2 * e]] - x[a[2 * e + 1]];
            if (flux > LIMIT || flux < -LIMIT)
                break;
            y[a[2 * e]] -= flux;
            y[a[2 * e + 1]] += flux;
        }
        for (long e = 0; e < DATA; e++)
            x[e] = 0.25 * y[e] + more[t * DATA + e];
    }
}

/* A loop beside it, which picks nothing by loaded numbers: in front of it is looked at what it finds. */
SHAPE checks(long n, const int *a, double *x, double *y, const double *more)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long e = 0; e < n; e++) // @checks
            y[e] = 0.25 * (x[a[2 * e]] + x[a[2 * e + 1]]);
        long e;
        for (e = 0; e < n; e++) { // looks at its own numbers
            x[e] += 0.5 * y[e] + more[t * n + e];
            if (!(x[e] < LIMIT)) {
                if (t == 2)
                    fail(e, x[e]);
                break;
            }
        }
        if (e < n)
            printf("checked up to %ld\n", e);
    }
}

/* What decides was stored by the iteration itself. */
SHAPE stored(long n, const int *a, double *x, double *y, double *z)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long e = 0; e < n; e++) { // @stored
            z[a[e]] = 1 - z[a[e]];
            if (z[e] > LIMIT)
                break;
            y[e] = x[a[e]];
        }
    }
}

/* What decides was stored by iterations before. */
SHAPE carried(long n, const int *a, double *x, double *y, const double *more)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long e = 0; e < n; e++) { // @carried
            if (y[a[e]] > LIMIT)
                break;
            y[e] = y[a[e]] + x[e];
        }
    }
}

/* A sum over the iterations decides. */
SHAPE summed(long n, const int *a, double *x, double *y, const double *more)
{
    for (int t = 0; t < SWEEPS; t++) {
        double sum = 0;
        for (long e = 0; e < n; e++) { // left by a sum
            sum += x[a[e]];
            if (sum > LIMIT)
                break;
            y[e] = sum;
        }
    }
}

/* Beside a loop that may have any order: one whose iterations read what those before have linked. Nothing is linked in
 * front of it, or each to itself. */
static double chained(long n, const int *a, double *x, double *y, int *next, int linked)
{
    double total = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (long e = 0; e < n; e++) // @beside
            total += y[a[e]];
        next[0] = -1;
        for (int e = 1; e <= n; e++)
            next[e] = linked ? e : -1;
        for (int e = 0; e < n; e++) { // left by a chain
            double sum = 0;
            for (int k = e; k >= 0; k = next[k])
                sum = x[a[k]] + 0.5 * sum;
            if (!(sum < LIMIT))
                break;
            next[e + 1] = e % 7 == 6 ? -1 : e;
            y[e] = sum;
        }
    }
    return total;
}

/* What is added to x behind each sweep: far too much in one of them, in the function that was asked for. */
static double *added(const char *name, int argc, char **argv, double *x)
{
    double *more = calloc(SWEEPS * DATA, sizeof *more);
    double much = strcmp(name, "below") == 0 ? -4 * LIMIT : 4 * LIMIT;
    if (argc > 2 && strcmp(argv[1], name) == 0) {
        int when = atoi(argv[2]);
        if (when == 0)
            x[57] = much;
        else
            more[(when - 1) * DATA + 57] = much;
    }
    return more;
}

int main(int argc, char **argv)
{
    int *a = ints(6 * JOBS, DATA);
    double *x = reals(JOBS + DATA, 5), *y = reals(JOBS + DATA, 5), *z = reals(JOBS + DATA, 5);
    fails(DATA, a, x, y, added("fails", argc, argv, x));
    show_reals("y", y, DATA);
    breaks(DATA, a, x, y, added("breaks", argc, argv, x));
    show_reals("y", y, DATA);
    returns(DATA, a, x, y, added("returns", argc, argv, x));
    returns(DATA, a, x, y, added("below", argc, argv, x));
    show_reals("y", y, DATA);
    adds(JOBS, a, x, y, added("adds", argc, argv, x));
    show_reals("y", y, DATA);
    checks(DATA, a, x, y, added("checks", argc, argv, x));
    show_reals("x", x, DATA);
    stored(DATA, a, x, y, z);
    carried(DATA, a, x, y, added("carried", argc, argv, y));
    show_reals("y", y, DATA);
    printf("%.9g\n", chained(DATA, a, x, y, ints(DATA + 1, 1), argc > 1 && strcmp(argv[1], "linked") == 0));
    summed(DATA, a, x, y, added("summed", argc, argv, x));
    show_reals("y", y, DATA);
    return 0;
}
