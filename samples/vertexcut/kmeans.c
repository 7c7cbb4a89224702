/*
 * kmeans: Lloyd's algorithm on 128 points of the plane, drawn around four centres, until no point changes its cluster.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define POINTS 128
#define CLUSTERS 4
#define ROUNDS 10
#define EXPECTED 34.2810700939

static double x[POINTS], y[POINTS], cx[CLUSTERS], cy[CLUSTERS];
static int cluster[POINTS];

static uint32_t state = 1;

static double next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 16777216.0;
}

/* Moves every point to the nearest centre; returns how many changed. */
static int assign(void)
{
    int changed = 0;
    for (int i = 0; i < POINTS; i++) {
        int best = 0;
        double least = INFINITY;
        for (int c = 0; c < CLUSTERS; c++) {
            double dx = x[i] - cx[c], dy = y[i] - cy[c], d = dx * dx + dy * dy;
            if (d < least) {
                least = d;
                best = c;
            }
        }
        changed += cluster[i] != best;
        cluster[i] = best;
    }
    return changed;
}

/* Moves every centre to the mean of its points; one without points stays. */
static void update(void)
{
    double sx[CLUSTERS] = {0}, sy[CLUSTERS] = {0};
    int count[CLUSTERS] = {0};
    for (int i = 0; i < POINTS; i++) {
        sx[cluster[i]] += x[i];
        sy[cluster[i]] += y[i];
        count[cluster[i]]++;
    }
    for (int c = 0; c < CLUSTERS; c++)
        if (count[c] > 0) {
            cx[c] = sx[c] / count[c];
            cy[c] = sy[c] / count[c];
        }
}

int main(void)
{
    for (int i = 0; i < POINTS; i++) {
        x[i] = (i & 1) + next_random();
        y[i] = (i >> 1 & 1) + next_random();
        cluster[i] = -1;
    }
    for (int c = 0; c < CLUSTERS; c++) {
        cx[c] = x[c];
        cy[c] = y[c];
    }
    for (int round = 0; round < ROUNDS && assign() > 0; round++)
        update();
    double sum = 0;
    for (int c = 0; c < CLUSTERS; c++)
        sum += (c + 1) * (cx[c] + 2 * cy[c]);
    printf("kmeans %.9e\n", sum);
    return fabs(sum - EXPECTED) > 1e-9 * EXPECTED;
}
