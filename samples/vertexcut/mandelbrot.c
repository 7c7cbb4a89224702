/*
 * mandelbrot: area of the Mandelbrot set, from the share of 4092 random points that do not escape.
 *
 * The points lie in the rectangle [-2, 0.5] x [0, 1.125], which holds the upper half of the set.
 */
#include <stdint.h>
#include <stdio.h>

#define POINTS 4092
#define ITERATIONS 4
#define EXPECTED 2073

static double re[POINTS], im[POINTS];

static uint32_t state = 1;

static double next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 16777216.0;
}

static int escapes(double a, double b)
{
    double x = a, y = b;
    for (int i = 0; i < ITERATIONS; i++) {
        double t = x * x - y * y + a;
        y = 2 * x * y + b;
        x = t;
        if (x * x + y * y > 4)
            return 1;
    }
    return 0;
}

int main(void)
{
    int outside = 0;
    for (int i = 0; i < POINTS; i++) {
        re[i] = -2.0 + 2.5 * next_random();
        im[i] = 1.125 * next_random();
    }
    for (int i = 0; i < POINTS; i++)
        outside += escapes(re[i], im[i]);
    printf("mandelbrot %d %.6f\n", outside, 2 * 2.5 * 1.125 * (POINTS - outside) / POINTS);
    return outside != EXPECTED;
}
