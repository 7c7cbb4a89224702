/*
 * cg: a linear system by the method of conjugate gradients (Hestenes and Stiefel, 1952), a job for each row of its
 * matrix. All loops of an iteration can keep their data on a card.
 *
 * Unknowns are those of a square of points, numbered at random; the remedy (-DFIXED) numbers them row by row.
 *
 *     cc -O2 -std=c11 cg.c -o cg -lm
 *     ./cg [SIDE [ITERATIONS [SEED]]]
 */
#include <math.h>

#include "matrix.h"

static void multiply(int n, const int *start, const int *column, const double *value, const double *p, double *q)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++)
            sum += value[k] * p[column[k]];
        q[i] = sum;
    }
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* x += factor * y */
static void add(int n, double factor, const double *y, double *x)
{
    for (int i = 0; i < n; i++)
        x[i] += factor * y[i];
}

/* p = r + factor * p */
static void turn(int n, double factor, const double *r, double *p)
{
    for (int i = 0; i < n; i++)
        p[i] = r[i] + factor * p[i];
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 400, 4000, 50);
    Matrix a = heat(given.size, REMEDY, &given.random);
    int n = a.n;
    double *b = new_doubles(n), *x = new_doubles(n), *r = new_doubles(n), *p = new_doubles(n), *q = new_doubles(n);
    for (int i = 0; i < n; i++)
        b[i] = r[i] = p[i] = 1.0 + draw_unit(&given.random);
    double begin = seconds(), rest = dot(n, r, r);
    for (int iteration = 0; iteration < given.steps; iteration++) {
        multiply(n, a.start, a.column, a.value, p, q);
        double alpha = rest / dot(n, p, q);
        add(n, alpha, p, x);
        add(n, -alpha, q, r);
        double before = rest;
        rest = dot(n, r, r);
        turn(n, rest / before, r, p);
    }
    tell_time(begin);
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * (1 + i % 7);
    printf("residual %.6e solution %.9e %.9e\n", sqrt(rest), sum, dot(n, b, x));
    return 0;
}
