/* Gaussian elimination without pivoting: the host walks over the pivots, two nests eliminate one column each. */
#define N 72

/* Multipliers of column t: one for each row below the pivot. */
SHAPE multipliers(double *m, const double *a, int n, int t)
{
    for (int i = 0; i < n - 1 - t; i++) // @multipliers
        m[n * (i + t + 1) + t] = a[n * (i + t + 1) + t] / a[n * t + t];
}

/* The rows below the pivot, from column t on, and the right-hand side: a nest that shrinks with t. */
SHAPE eliminate(const double *m, double *a, double *b, int n, int t)
{
    for (int i = 0; i < n - 1 - t; i++) { // @eliminate
        for (int j = 0; j < n - t; j++)
            a[n * (i + 1 + t) + (j + t)] -= m[n * (i + 1 + t) + t] * a[n * t + (j + t)];
        b[i + 1 + t] -= m[n * (i + 1 + t) + t] * b[t];
    }
}

/* The same by columns: neighbouring iterations are neighbours in memory. */
SHAPE by_columns(const double *m, double *a, int n, int t)
{
    for (int j = t; j < n; j++) // @by_columns
        for (int i = t + 1; i < n; i++)
            a[n * i + j] -= m[n * i + t] * a[n * t + j];
}

/* All pairs of rows and columns in one loop. */
SHAPE flat(const double *m, double *a, int n, int t)
{
    int width = n - t;
    for (int e = 0; e < (n - 1 - t) * width; e++) { // @flat
        int i = t + 1 + e / width, j = t + e % width;
        a[n * i + j] -= m[n * i + t] * a[n * t + j];
    }
}

/* Rows in the order of a permutation, as with row pivoting. */
SHAPE permuted(const int *row, const double *m, double *a, int n, int t)
{
    for (int i = t + 1; i < n; i++) // @permuted
        for (int j = t; j < n; j++)
            a[n * row[i] + j] -= m[n * row[i] + t] * a[n * row[t] + j];
}

/* The lower triangle of the product of a matrix and its transpose: rows of growing length. */
SHAPE triangle(const double *a, double *c, int n)
{
    for (int i = 0; i < n; i++) // @triangle
        for (int j = 0; j <= i; j++) {
            double s = 0;
            for (int k = 0; k < n; k++)
                s += a[n * i + k] * a[n * j + k];
            c[n * i + j] = s;
        }
}

/* Back substitution: each row needs those below it. */
SHAPE substitute(const double *a, const double *b, double *x, int n)
{
    for (int i = 0; i < n; i++) { // @substitute
        int r = n - 1 - i;
        double s = b[r];
        for (int j = 0; j < i; j++)
            s -= a[n * r + (n - 1 - j)] * x[n - 1 - j];
        x[r] = s / a[n * r + r];
    }
}

static double *matrix(int n)
{
    double *a = malloc((size_t)(n * n) * sizeof *a);
    for (int i = 0; i < n * n; i++)
        a[i] = 0.01 * (draw() % 100);
    for (int i = 0; i < n; i++)
        a[n * i + i] += n;
    return a;
}

static void sum(const char *name, const double *a, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * (1 + i % 7);
    printf("%s %.9g\n", name, s);
}

int main(void)
{
    int n = N, *row = permutation(N);
    double *a = matrix(n), *c = matrix(n), *d = matrix(n), *p = matrix(n);
    double *m = calloc(N * N, sizeof *m), *b = reals(N, 10), *x = calloc(N, sizeof *x);
    for (int t = 0; t < n - 1; t++) {
        multipliers(m, a, n, t);
        eliminate(m, a, b, n, t);
        by_columns(m, c, n, t);
        flat(m, d, n, t);
        permuted(row, m, p, n, t);
    }
    substitute(a, b, x, n);
    triangle(a, c, n);
    sum("a", a, n * n), sum("b", b, n), sum("c", c, n * n), sum("d", d, n * n), sum("p", p, n * n);
    sum("x", x, n), sum("m", m, n * n);
    return 0;
}
