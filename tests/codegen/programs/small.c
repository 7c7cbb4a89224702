/* Two loops whose emitted code is compared line by line. */
SHAPE edges(int n, const int *a, const int *b, const double *w, const double *x, double *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < n; e++) { // @edges
            double f = w[e] * (x[b[e]] - x[a[e]]);
            y[a[e]] += f;
            y[b[e]] -= f;
        }
}

SHAPE local_rows(int n, const int *rp, const int *col, const int *k, const double *x, double *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < n; i++) { // @local_rows
            double part[4] = {0};
            for (int j = rp[i]; j < rp[i + 1]; j++)
                part[k[i]] += x[col[j]];
            y[i] = part[k[i] ^ 1] + part[k[i]] * i;
        }
}

int main(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), *rp = offsets(JOBS, 5), *k = ints(JOBS, 4);
    double *w = reals(JOBS, 9), *x = reals(DATA, 9), *y = reals(DATA, 9), *z = reals(JOBS, 9);
    edges(JOBS, a, b, w, x, y);
    local_rows(JOBS, rp, ints(rp[JOBS], DATA), k, x, z);
    show_reals("edges", y, DATA);
    show_reals("local_rows", z, JOBS);
    return 0;
}
