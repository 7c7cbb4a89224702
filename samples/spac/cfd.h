/*
 * Gas in a square of SIZE x SIZE cells, as the two cfd programs compute it: Euler's equations in three dimensions, five
 * fields a cell, single precision, each field an array of its own.
 */
#ifndef CFD_H
#define CFD_H

#include <math.h>

#include "spac.h"

#define GAMMA 1.4f
#define FIELDS 5

/* Density, momentum in three directions, energy. */
typedef struct {
    float *d, *mx, *my, *mz, *e;
} Fields;

/* The same of one cell, with what its fluxes are made of. */
typedef struct {
    float d, mx, my, mz, e, p, vx, vy, vz, fastest;
} Gas;

static inline Fields new_fields(int n)
{
    return (Fields){new_floats(n), new_floats(n), new_floats(n), new_floats(n), new_floats(n)};
}

static inline Gas gas_of(float d, float mx, float my, float mz, float e)
{
    Gas g = {d, mx, my, mz, e, 0, mx / d, my / d, mz / d, 0};
    float square = g.vx * g.vx + g.vy * g.vy + g.vz * g.vz;
    g.p = (GAMMA - 1) * (e - 0.5f * d * square);
    g.fastest = sqrtf(square) + sqrtf(GAMMA * g.p / d);
    return g;
}

/* What a field loses through a face: the mean of both sides, and a difference that keeps it stable. */
static inline float through(float mine, float other, float vn, float on, float loss)
{
    return 0.5f * (mine * vn + other * on) - loss * (other - mine);
}

/* A gas at rest with a denser disk in it. `number`: of each cell of the square. */
static inline void start(const Fields *u, const int *number, int side)
{
    for (int row = 0; row < side; row++)
        for (int column = 0; column < side; column++) {
            int i = number[side * row + column];
            float x = (float)column / (float)side - 0.4f, y = (float)row / (float)side - 0.6f;
            u->d[i] = x * x + y * y < 0.04f ? 2.0f : 1.0f;
            u->mx[i] = 0.1f * u->d[i];
            u->my[i] = u->mz[i] = 0.02f;
            u->e[i] = 2.5f * u->d[i];
        }
}

static inline void print_fields(const Fields *u, int n)
{
    const float *all[FIELDS] = {u->d, u->mx, u->my, u->mz, u->e};
    static const char *const names[FIELDS] = {"density", "momentum-x", "momentum-y", "momentum-z", "energy"};
    for (int f = 0; f < FIELDS; f++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < n; i++) {
            sum += all[f][i];
            squares += (double)all[f][i] * all[f][i];
        }
        printf("%s %.5e %.5e\n", names[f], sum / n, squares / n);
    }
}

#endif
