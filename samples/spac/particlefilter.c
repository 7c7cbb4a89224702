/*
 * particlefilter: particles follow a disk through a noisy video, a job for each particle.
 *
 * In each frame particles move at random, are weighed by the picture around them, and are drawn anew: each looks for the
 * first of the cumulative weights that reaches its number, one after the other from the first on; the remedy (-DFIXED)
 * searches by halves.
 *
 *     cc -O2 -std=c11 particlefilter.c -o particlefilter -lm
 *     ./particlefilter [PARTICLES [FRAMES [SEED]]]
 */
#include <math.h>

#include "spac.h"

#define GRID 128
#define RADIUS 4

/* A new number of a particle's own sequence, from -1 to 1. */
static inline double noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 8388608.0 - 1.0;
}

static void move(double *x, double *y, uint32_t *state, int n)
{
    for (int i = 0; i < n; i++) {
        x[i] += 1.0 + 1.5 * (noise(&state[i]) + noise(&state[i]));
        y[i] += -0.5 + 1.5 * (noise(&state[i]) + noise(&state[i]));
    }
}

/* How much more likely the picture around a particle is with the disk there than without. */
static void likelihoods(const unsigned char *picture, const int *dx, const int *dy, int points, const double *x,
                        const double *y, double *weight, int n)
{
    for (int i = 0; i < n; i++) {
        int row = (int)floor(y[i] + 0.5), column = (int)floor(x[i] + 0.5);
        double sum = 0;
        for (int k = 0; k < points; k++) {
            int r = row + dy[k], c = column + dx[k];
            int inside = r >= 0 && r < GRID && c >= 0 && c < GRID;
            double seen = picture[inside ? GRID * r + c : 0];
            sum += ((seen - 100) * (seen - 100) - (seen - 228) * (seen - 228)) / 5000.0;
        }
        weight[i] *= exp(sum / points);
    }
}

static double total(const double *weight, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += weight[i];
    return sum;
}

static void normalize(double *weight, double sum, int n)
{
    for (int i = 0; i < n; i++)
        weight[i] /= sum;
}

static double mean(const double *weight, const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += weight[i] * x[i];
    return sum;
}

static void cumulate(const double *weight, double *cdf, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        sum += weight[i];
        cdf[i] = sum;
    }
}

static void numbers(double *u, double first, int n)
{
    for (int i = 0; i < n; i++)
        u[i] = first + (double)i / n;
}

/* The first place whose sum reaches u. */
static inline int find_index(const double *cdf, int n, double u)
{
#ifdef FIXED
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (cdf[middle] >= u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
#else
    for (int j = 0; j < n; j++)
        if (cdf[j] >= u)
            return j;
    return n - 1;
#endif
}

static void resample(const double *cdf, const double *u, const double *x, const double *y, double *next_x,
                     double *next_y, int n)
{
    for (int i = 0; i < n; i++) {
        int at = find_index(cdf, n, u[i]);
        next_x[i] = x[at];
        next_y[i] = y[at];
    }
}

static void take(const double *next_x, const double *next_y, double *x, double *y, double *weight, int n)
{
    for (int i = 0; i < n; i++) {
        x[i] = next_x[i];
        y[i] = next_y[i];
        weight[i] = 1.0 / n;
    }
}

/* The picture of a frame: a bright disk that moves, on a dark ground, with noise. */
static void film(unsigned char *picture, int frame, uint64_t *random)
{
    double cx = GRID / 3.0 + frame, cy = 2 * GRID / 3.0 - 0.5 * frame;
    for (int r = 0; r < GRID; r++)
        for (int c = 0; c < GRID; c++) {
            int bright = (r - cy) * (r - cy) + (c - cx) * (c - cx) <= RADIUS * RADIUS;
            picture[GRID * r + c] = (unsigned char)((bright ? 208 : 80) + draw(random, 41));
        }
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 4096, 1000000, 8);
    int n = given.size, points = 0, *dx = new_ints(81), *dy = new_ints(81);
    for (int r = -RADIUS; r <= RADIUS; r++)
        for (int c = -RADIUS; c <= RADIUS; c++)
            if (r * r + c * c <= RADIUS * RADIUS) {
                dx[points] = c;
                dy[points++] = r;
            }
    unsigned char *picture = allocate(GRID * GRID, 1);
    double *x = new_doubles(n), *y = new_doubles(n), *weight = new_doubles(n), *cdf = new_doubles(n);
    double *u = new_doubles(n), *next_x = new_doubles(n), *next_y = new_doubles(n);
    uint32_t *state = allocate((size_t)n, sizeof *state);
    for (int i = 0; i < n; i++) {
        x[i] = GRID / 3.0;
        y[i] = 2 * GRID / 3.0;
        weight[i] = 1.0 / n;
        state[i] = (uint32_t)draw(&given.random, 1 << 30);
    }
    double began = seconds();
    for (int frame = 0; frame < given.steps; frame++) {
        film(picture, frame + 1, &given.random);
        move(x, y, state, n);
        likelihoods(picture, dx, dy, points, x, y, weight, n);
        normalize(weight, total(weight, n), n);
        if (frame % 4 == 3 || frame == given.steps - 1)
            printf("frame %d %.6e %.6e\n", frame, mean(weight, x, n), mean(weight, y, n));
        cumulate(weight, cdf, n);
        numbers(u, draw_unit(&given.random) / n, n);
        resample(cdf, u, x, y, next_x, next_y, n);
        take(next_x, next_y, x, y, weight, n);
    }
    tell_time(began);
    return 0;
}
