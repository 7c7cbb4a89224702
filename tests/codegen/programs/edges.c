/* Rows without entries, and loops of very few jobs. */
static int *row_offsets(long n, int kind) /* 1: the first ones empty, 2: the last ones, 4: a run of them, 8: all */
{
    int *p = offsets(n, 5);
    for (long i = n - 1; i >= 0; i--) {
        bool first = kind & 1 && i < 3, last = kind & 2 && i >= n - 3, middle = kind & 4 && i > n / 3 && i < n / 2;
        int drop = first || last || middle || kind & 8 ? p[i + 1] - p[i] : 0;
        for (long k = i + 1; k <= n; k++)
            p[k] -= drop;
    }
    return p;
}

#define ROWS(NAME, KIND)                                                                                              \
    SHAPE NAME(void)                                                                                                  \
    {                                                                                                                 \
        int *rp = row_offsets(JOBS, KIND), *col = ints(rp[JOBS] + 1, DATA);                                           \
        long *val = longs(rp[JOBS] + 1, 9), *x = longs(DATA, 100), *y = longs(JOBS, 9);                               \
        for (int t = 0; t < SWEEPS; t++) {                                                                            \
            NAME##_sweep(rp, col, val, x, y);                                                                         \
            for (int v = 0; v < DATA; v++)                                                                            \
                x[v] += y[v] & 3;                                                                                     \
        }                                                                                                             \
        show(#NAME, y, JOBS);                                                                                         \
    }

static inline void empty_first_sweep(const int *rp, const int *col, const long *val, const long *x, long *y)
{
    for (int i = 0; i < JOBS; i++) { // @empty_first
        long s = 0;
        for (int j = rp[i]; j < rp[i + 1]; j++)
            s += val[j] * x[col[j]];
        y[i] = s;
    }
}
ROWS(empty_first, 1)

static inline void empty_last_sweep(const int *rp, const int *col, const long *val, const long *x, long *y)
{
    for (int i = 0; i < JOBS; i++) // @empty_last
        for (int j = rp[i]; j < rp[i + 1]; j++)
            y[i] += val[j] * x[col[j]];
}
ROWS(empty_last, 2)

static inline void empty_runs_sweep(const int *rp, const int *col, const long *val, const long *x, long *y)
{
    for (int i = 0; i < JOBS; i++) { // @empty_runs
        long s = 1;
        for (int j = rp[i]; j < rp[i + 1]; j++)
            s += val[j] * x[col[j]];
        y[i] = s;
    }
}
ROWS(empty_runs, 7)

static inline void empty_all_sweep(const int *rp, const int *col, const long *val, const long *x, long *y)
{
    for (int i = 0; i < JOBS; i++) { // @empty_all
        long s = i;
        for (int j = rp[i]; j < rp[i + 1]; j++)
            s += val[j] * x[col[j]];
        y[i] = s;
    }
}
ROWS(empty_all, 8)

SHAPE empty_updates(void) /* rows that update what they reach: some reach nothing */
{
    int *rp = row_offsets(JOBS, 7), *col = ints(rp[JOBS] + 1, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @empty_updates
            for (int j = rp[i]; j < rp[i + 1]; j++)
                y[col[j]] += i + j;
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("empty_updates", y, DATA);
}

SHAPE three_jobs(void) /* fewer jobs than threads */
{
    int *a = ints(3, 5);
    long *x = longs(5, 100), *y = longs(5, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < 3; e++) // @three_jobs
            y[a[e]] += x[a[e]] + e;
        for (int v = 0; v < 5; v++)
            x[v]++;
    }
    show("three_jobs", y, 5);
}

SHAPE one_job(void)
{
    int n = 1 + (draw() == 12345); /* that it is 1 only a run can tell */
    int *a = ints(n, 5);
    long *x = longs(5, 100), *y = longs(5, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < n; e++) // @one_job
            y[a[e]] += x[a[e]];
        for (int v = 0; v < 5; v++)
            x[v]++;
    }
    show("one_job", y, 5);
}

SHAPE own_record(void) /* threads share nothing that they write: no slots, no tail */
{
    int *a = ints(JOBS, DATA);
    double *x = reals(DATA, 100), *y = reals(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @own_record
            y[e] = 0.3 * y[e] + sqrt(x[a[e]]);
        for (int v = 0; v < DATA; v++)
            x[v] *= 0.9;
    }
    show_reals("own_record", y, JOBS);
}

SHAPE totals(void) /* sums in registers, of integers and of reals */
{
    int *a = ints(JOBS, DATA);
    double *x = reals(DATA, 100), sum = 0, most = -1;
    long count = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @totals
            sum += x[a[e]] * 0.7;
            count += a[e] ^ e;
            most = fmax(most, x[a[e]]);
        }
        for (int v = 0; v < DATA; v++)
            x[v] *= 0.99;
    }
    printf("totals %.9g %ld %.9g\n", sum, count, most);
}

SHAPE products(void) /* reductions in memory that are no sums: threads have no slots for them */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    unsigned char *z = bytes(DATA, 255);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @products
            y[a[e]] *= 3 + x[b[e]] % 2;
            z[b[e]] ^= (unsigned char)(e + x[a[e]]);
        }
    show("products", y, DATA);
    show_bytes("products", z, DATA);
}

SHAPE repeats(void) /* no reduction, but the same update wherever iterations meet */
{
    int *a = ints(JOBS, DATA);
    double *x = reals(DATA, 100), *y = reals(DATA, 9), *z = reals(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @repeats
            y[a[e]] = 0.75 * y[a[e]] + 0.1;
            z[a[e]] += x[a[e]];
        }
    show_reals("repeats", y, DATA);
    show_reals("repeats", z, DATA);
}

int main(void)
{
    empty_first(), empty_last(), empty_runs(), empty_all(), empty_updates();
    three_jobs(), one_job(), own_record(), totals(), products(), repeats();
    return 0;
}
