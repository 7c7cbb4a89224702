/*
 * spmv_nonzeros: products of a sparse matrix and a vector, a job for each nonzero, which it adds to its row.
 *
 * Nonzeros are listed column by column, as files have them; the remedy (-DFIXED) sorts them by row and gives the threads
 * equal shares.
 *
 *     cc -O2 -std=c11 spmv_nonzeros.c -o spmv_nonzeros
 *     ./spmv_nonzeros [ROWS [STEPS [SEED]]]
 */
#include "matrix.h"

static void multiply(int nonzeros, const int *row, const int *column, const float *value, const float *x, float *y)
{
    for (int k = 0; k < nonzeros; k++)
        y[row[k]] += value[k] * x[column[k]];
}

/* The next vector, from the product, which is left empty. */
static void next(int n, float *x, float *y)
{
    for (int i = 0; i < n; i++) {
        x[i] = 0.5f * x[i] + 0.5f * y[i] + 0.01f;
        y[i] = 0;
    }
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 262144, 50000000, 10);
    Matrix a = links(given.size, &given.random);
    int n = a.n, *row = new_ints(a.nonzeros), *column = new_ints(a.nonzeros), *place = new_ints(n + 1);
    float *value = new_floats(a.nonzeros), *x = new_floats(n), *y = new_floats(n);
    for (int k = 0; k < a.nonzeros; k++)
        place[a.column[k] + 1]++;
    for (int i = 0; i < n; i++)
        place[i + 1] += place[i];
    for (int i = 0; i < n; i++)
        for (int k = a.start[i]; k < a.start[i + 1]; k++) {
            int to = REMEDY ? k : place[a.column[k]]++;
            row[to] = i;
            column[to] = a.column[k];
            value[to] = (float)a.value[k];
        }
    for (int i = 0; i < n; i++)
        x[i] = (float)draw_unit(&given.random);
    double begin = seconds();
    for (int step = 0; step < given.steps; step++) {
        multiply(a.nonzeros, row, column, value, x, y);
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
