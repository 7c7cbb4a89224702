/*
 * spmv_rows: products of a sparse matrix and a vector, a job for each row, whose nonzeros it adds up.
 *
 * The remedy against rows of very different lengths is `spmv_nonzeros` with its own one: nonzeros sorted by row, and
 * equal shares of them.
 *
 *     cc -O2 -std=c11 spmv_rows.c -o spmv_rows
 *     ./spmv_rows [ROWS [STEPS [SEED]]]
 */
#include "matrix.h"

static void multiply(int n, const int *start, const int *column, const float *value, const float *x, float *y)
{
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++)
            sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

static void next(int n, float *x, const float *y)
{
    for (int i = 0; i < n; i++)
        x[i] = 0.5f * x[i] + 0.5f * y[i] + 0.01f;
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 262144, 50000000, 10);
    Matrix a = links(given.size, &given.random);
    int n = a.n;
    float *value = new_floats(a.nonzeros), *x = new_floats(n), *y = new_floats(n);
    for (int k = 0; k < a.nonzeros; k++)
        value[k] = (float)a.value[k];
    for (int i = 0; i < n; i++)
        x[i] = (float)draw_unit(&given.random);
    double begin = seconds();
    for (int step = 0; step < given.steps; step++) {
        multiply(n, a.start, a.column, value, x, y);
        next(n, x, y);
    }
    tell_time(begin);
    double sum = 0, weighted = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        weighted += x[i] * (1 + i % 7);
    }
    printf("nonzeros %d sum %.5e weighted %.5e\n", a.nonzeros, sum, weighted);
    return 0;
}
