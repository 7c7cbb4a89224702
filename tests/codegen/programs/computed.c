/* Indices that are computed of floating-point numbers. The first argument says what is other than in the first run. */
#define SIDE 40

static bool is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

SHAPE binned(long n, const double *x, double scale, const long *w, long *bins)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) // @binned
            bins[(int)(x[i] * scale)] += w[i];
}

/* Four pixels around a place; places outside of the image are left out. */
SHAPE warped(long n, const float *px, const float *py, double *image, double *out)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long i = 0; i < n; i++) { // @warped
            int x = (int)px[i], y = (int)py[i];
            if (x < 0 || y < 0 || x >= SIDE - 1 || y >= SIDE - 1)
                continue;
            const double *at = &image[y * SIDE + x];
            out[i] = at[0] + 2 * at[1] + 3 * at[SIDE] + 4 * at[SIDE + 1];
        }
        for (long i = 0; i < SIDE * SIDE; i++)
            image[i] += 1;
    }
}

/* Each place is written once, which the numbers say. */
SHAPE placed(long n, const double *x, const long *w, long *out)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) // @placed
            out[(long)(x[i] * n)] = w[i] + t;
}

/* Two iterations write one place. */
SHAPE twice(long n, const double *x, const long *w, long *out)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) // @twice
            out[(long)(x[i] * n) / 2] = w[i] + t;
}

/* The places move: what is known of them is known of one step. */
SHAPE drifting(long n, double *x, const long *w, long *out)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) { // @drifting
            out[(long)(x[i] * n)] = w[i] + t;
            x[(i + 1) % n] *= 0.99;
        }
}

/* Each iteration adds to a place that moves from sweep to sweep: the order does not matter, wherever it is. */
SHAPE deposited(long n, double *x, const long *w, long *sums)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long i = 0; i < n; i++) // @deposited
            sums[(int)(x[i] * n)] += w[i];
        for (long i = 0; i < n; i++)
            x[i] *= 0.97;
    }
}

/* What is added is a sum itself. */
SHAPE cascaded(long n, double *x, const long *w, long *sums)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long i = 0; i < n; i++) // @cascaded
            sums[(int)(x[i] * n)] += sums[i] + w[i];
        for (long i = 0; i < n; i++)
            x[i] *= 0.97;
    }
}

/* Numbers of eight bytes that begin at every fourth: two of them may overlap. */
SHAPE askew(long n, double *x, const long *w, long *sums)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long i = 0; i < n; i++) { // @askew
            long sum;
            memcpy(&sum, (int *)sums + (int)(x[i] * n), sizeof sum);
            sum += w[i];
            memcpy((int *)sums + (int)(x[i] * n), &sum, sizeof sum);
        }
        for (long i = 0; i < n; i++)
            x[i] *= 0.97;
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "same";
    int *number = permutation(JOBS);
    double *x = reals(JOBS, 2), *image = reals(SIDE * SIDE, 50), *out = reals(JOBS, 2);
    float *px = floats(JOBS, SIDE + 2), *py = floats(JOBS, SIDE);
    long *w = longs(JOBS, 100), *bins = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        x[i] = (number[i] + 0.5) / JOBS;
    for (int i = 0; i < JOBS; i++)
        px[i] += 0.25f - (i % 50 == 0), py[i] += 0.5f;
    if (is(mode, "one"))
        x[7] = x[8];
    if (is(mode, "place"))
        px[9] = 1;
    binned(JOBS, x, is(mode, "scale") ? 100 : 150, w, bins);
    show("bins", bins, JOBS);
    warped(JOBS, px, py, image, out);
    show_reals("out", out, JOBS);
    placed(JOBS, x, w, bins);
    show("bins", bins, JOBS);
    twice(JOBS, x, w, bins);
    show("bins", bins, JOBS);
    drifting(JOBS, x, w, bins);
    show("bins", bins, JOBS);
    if (is(mode, "moved"))
        for (int i = 0; i < JOBS; i++)
            x[i] *= 0.5;
    deposited(JOBS, x, w, bins);
    show("bins", bins, JOBS);
    cascaded(JOBS, x, w, bins);
    show("bins", bins, JOBS);
    askew(JOBS, x, w, bins);
    show("bins", bins, JOBS);
    return 0;
}
