/* Loops that check their indices and give up where one is wrong: no iteration of the run does. */
static void wrong(const char *what, long index)
{
    fprintf(stderr, "%s: %ld\n", what, index);
    exit(3);
}

static long at(const long *x, long n, long i)
{
    if (i < 0 || i >= n)
        wrong("no element", i);
    return x[i];
}

SHAPE checked_edges(void) /* in the loop itself */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), n = DATA;
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @checked_edges
            long f = at(x, n, a[e]) - at(x, n, b[e]);
            y[a[e]] += f;
            y[b[e]] -= f;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 7;
    }
    show("checked_edges", x, DATA);
}

SHAPE checked_rows(void) /* in the rows, which leaves both loops */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA), n = DATA;
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @checked_rows
            long sum = 0;
            for (int j = rp[i]; j < rp[i + 1]; j++)
                sum += at(x, n, col[j]);
            y[i] = at(x, n, i % n) + sum;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("checked_rows", y, JOBS);
}

SHAPE checked_values(void) /* what it checks is computed: looked at in front of the loop */
{
    int *volatile made = offsets(JOBS, 6); // else the compiler knows that the first is 0
    int *rp = made, *col = ints(rp[JOBS], DATA);
    double *x = reals(DATA, 100), *y = reals(JOBS, 9);
    for (int i = 0; i < JOBS; i++) { // @checked_values
        double sum = 0;
        for (int j = rp[i]; j < rp[i + 1]; j++) {
            if (x[col[j]] < -1000000)
                wrong("too small", j);
            sum += x[col[j]];
        }
        y[i] = sum;
    }
    show_reals("checked_values", y, JOBS);
}

SHAPE checked_sums(void) /* what it checks is only known when it has been computed */
{
    int *volatile made = offsets(JOBS, 6); // else the compiler knows that the first is 0
    int *rp = made, *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++) {
        long sum = 0;
        for (int j = rp[i]; j < rp[i + 1]; j++) {
            sum += x[col[j]];
            if (sum < -1000000)
                wrong("too small", j);
        }
        y[i] = sum;
    }
    show("checked_sums", y, JOBS);
}

SHAPE checked_and_wrong(void) /* one is wrong in the run, and the rows behind it are left out */
{
    int *volatile made = offsets(JOBS, 6); // else the compiler knows that the first is 0
    int *rp = made, *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    long bad = -1;
    col[rp[JOBS] / 2] = DATA;
    for (int i = 0; i < JOBS; i++) {
        long sum = 0;
        for (int j = rp[i]; j < rp[i + 1]; j++) {
            if (col[j] >= DATA) {
                bad = i;
                goto out;
            }
            sum += x[col[j]];
        }
        y[i] = sum;
    }
out:
    show("checked_and_wrong", &bad, 1);
    show("checked_and_wrong", y, JOBS);
}

typedef struct {
    long (*law)(long);
} Laws;

static long twice(long x) { return 2 * x + 1; }
static long negative(long x) { return -x; }

SHAPE checked_laws(void) /* which function is meant is asked anew for each edge: marks may lie anywhere */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), sum = 0;
    unsigned char *volatile marks = calloc(DATA, 1), *seen = marks;
    Laws *volatile made = malloc(2 * sizeof *made); // else the compiler knows what is stored there
    Laws *laws = made;
    laws[0].law = negative, laws[1].law = twice;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @checked_laws
            y[a[e]] += laws->law(x[b[e]]);
            seen[b[e]] = 1;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 7;
    }
    for (int v = 0; v < DATA; v++)
        sum += seen[v];
    show("checked_laws", x, DATA);
    show("checked_laws", &sum, 1);
}

int main(void)
{
    checked_laws(), checked_edges(), checked_rows(), checked_values(), checked_sums(), checked_and_wrong();
    return 0;
}
