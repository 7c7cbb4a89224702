/*
 * gaussian: systems of linear equations by Gaussian elimination without pivoting; regular, a job for each element.
 *
 * For each pivot one loop computes the multipliers of the rows below, and one eliminates in all elements below and to
 * the right. Neighbouring jobs of the latter lie below each other, a row apart; the remedy (-DFIXED) swaps the two
 * dimensions, so that they lie side by side. Which jobs share data is known without running it.
 *
 *     cc -O2 -std=c11 gaussian.c -o gaussian
 *     ./gaussian [UNKNOWNS [SYSTEMS [SEED]]]
 */
#include "spac.h"

static void multipliers(float *m, const float *a, int n, int t)
{
    for (int i = 0; i < n - 1 - t; i++)
        m[n * (i + t + 1) + t] = a[n * (i + t + 1) + t] / a[n * t + t];
}

static void eliminate(const float *m, float *a, int n, int t)
{
    int rows = n - 1 - t, columns = n - t;
    for (int k = 0; k < rows * columns; k++) {
        int i = t + 1 + (REMEDY ? k / columns : k % rows), j = t + (REMEDY ? k % columns : k / rows);
        a[n * i + j] -= m[n * i + t] * a[n * t + j];
    }
}

/* The right-hand side. */
static void eliminate_right(const float *m, float *b, int n, int t)
{
    for (int i = 0; i < n - 1 - t; i++)
        b[i + t + 1] -= m[n * (i + t + 1) + t] * b[t];
}

/* From the last row up: each needs those below it. */
static void substitute(const float *a, const float *b, float *x, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        float sum = b[i];
        for (int j = i + 1; j < n; j++)
            sum -= a[n * i + j] * x[j];
        x[i] = sum / a[n * i + i];
    }
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 512, 16000, 1);
    int n = given.size;
    float *a = allocate((size_t)n * (size_t)n, sizeof *a), *m = allocate((size_t)n * (size_t)n, sizeof *m);
    float *b = new_floats(n), *x = new_floats(n);
    double sum = 0, begin = seconds();
    for (int system = 0; system < given.steps; system++) {
        for (int i = 0; i < n; i++) {
            b[i] = (float)draw_unit(&given.random);
            for (int j = 0; j < n; j++)
                a[n * i + j] = (float)draw_unit(&given.random) + (i == j ? (float)n : 0.0f);
        }
        for (int t = 0; t < n - 1; t++) {
            multipliers(m, a, n, t);
            eliminate(m, a, n, t);
            eliminate_right(m, b, n, t);
        }
        substitute(a, b, x, n);
        for (int i = 0; i < n; i++)
            sum += x[i] * (1 + i % 7);
    }
    tell_time(begin);
    printf("solutions %.6e diagonal %.6e\n", sum, a[n * n - 1]);
    return 0;
}
