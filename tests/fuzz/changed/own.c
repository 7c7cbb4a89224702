/* Kernels in whole numbers: whatever the order, every bit has to be the same. */
#define N 400
#define DATA 150

static int n = N, rows = 100;
static int *a0, *b0, *a1, *b1, *starts, *columns;
static unsigned long *x0, *y0, *x1, *y1, *x2, *y2, *x3, *y3;
static uint64_t *on;
static double *gate;
static int limit = 1;
typedef struct { int from, to; double weight; } Edge;
static Edge *edges;

__attribute__((noinline)) static void flagged(long n, const int *a, const int *b, const uint64_t *on, const unsigned long *x, unsigned long *y)
{
    for (int t = 0; t < 2; t++)
        for (long e = 0; e < n; e++) // @flagged
            if (on[e])
                y[a[e]] += 3 * x[b[e]] + (unsigned long)e;
}

__attribute__((noinline)) static void gated(long n, int limit, const int *a, const int *b, const double *gate, const unsigned long *x, unsigned long *y)
{
    for (int t = 0; t < 2; t++)
        for (long e = 0; e < n; e++) // @gated
            if (gate[e] > 0.25 * limit)
                y[a[e]] += 5 * x[b[e]];
}

__attribute__((noinline)) static void rows_of(long n, const int *starts, const int *columns, const unsigned long *x, unsigned long *y)
{
    for (int t = 0; t < 2; t++)
        for (long i = 0; i < n; i++) // @rows_of
            for (int j = starts[i]; j < starts[i + 1]; j++)
                y[i] += 7 * x[columns[j]];
}

__attribute__((noinline)) static void edges_of(long n, const Edge *edges, const unsigned long *x, unsigned long *y)
{
    for (int t = 0; t < 2; t++)
        for (long e = 0; e < n; e++) // @edges_of
            y[edges[e].to] += x[edges[e].from] * (unsigned long)(4096 * edges[e].weight);
}

static int n0 = N, n1 = N, n3 = N;

static void call(int kernel)
{
    if (kernel == 0)
        flagged(n0, a0, b0, on, x0, y0);
    if (kernel == 1)
        gated(n1, limit, a1, b1, gate, x1, y1);
    if (kernel == 2)
        rows_of(rows, starts, columns, x2, y2);
    if (kernel == 3)
        edges_of(n3, edges, x3, y3);
}

int main(int argc, char **argv)
{
    list((void **)&a0, 0, INDEX, N, DATA), list((void **)&b0, 0, INDEX, N, DATA);
    list((void **)&on, 0, FLAGS, N, 0), list((void **)&x0, 0, WHOLE, DATA, 0), list((void **)&y0, 0, WHOLE, DATA, 0);
    list((void **)&a1, 1, INDEX, N, DATA), list((void **)&b1, 1, INDEX, N, DATA);
    list((void **)&gate, 1, NUMBERS, N, 0), list((void **)&x1, 1, WHOLE, DATA, 0), list((void **)&y1, 1, WHOLE, DATA, 0);
    list((void **)&starts, 2, STARTS, 101, 500), list((void **)&columns, 2, INDEX, 500, DATA);
    list((void **)&x2, 2, WHOLE, DATA, 0), list((void **)&y2, 2, WHOLE, DATA, 0);
    edges = calloc(N + 1, sizeof *edges);
    list_field((void **)&edges, 3, INDEX, N, DATA, sizeof *edges, 0);
    list_field((void **)&edges, 3, INDEX, N, DATA, sizeof *edges, 4);
    list_field((void **)&edges, 3, NUMBERS, N, 0, sizeof *edges, 8);
    list((void **)&x3, 3, WHOLE, DATA, 0), list((void **)&y3, 3, WHOLE, DATA, 0);
    list_length(&n0, 0, N), list_length(&n1, 1, N), list_length(&rows, 2, 100), list_length(&n3, 3, N);
    list_length(&limit, 1, 6);
    return run_changed(argc, argv, 4, call);
}
