/* What every program of the catalogue starts with. Integers, so that any order has to give the same bits. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 600
#define DATA 200
#define SWEEPS 3
#define SHAPE __attribute__((noinline)) static void

static unsigned state_ = 1;
static unsigned draw(void) { return (state_ = state_ * 1103515245u + 12345u) >> 8; }

#define MAKE(NAME, TYPE)                                                                                              \
    static TYPE *NAME(long n, long below)                                                                             \
    {                                                                                                                 \
        TYPE *p = malloc((size_t)n * sizeof *p);                                                                      \
        for (long i = 0; i < n; i++)                                                                                  \
            p[i] = (TYPE)(draw() % below);                                                                            \
        return p;                                                                                                     \
    }
MAKE(ints, int)
MAKE(longs, long)
MAKE(shorts, short)
MAKE(bytes, unsigned char)
MAKE(words, unsigned short)
MAKE(reals, double)
MAKE(floats, float)

#define SHOW(NAME, TYPE)                                                                                              \
    static void NAME(const char *name, const TYPE *x, long n)                                                         \
    {                                                                                                                 \
        unsigned long sum = 0;                                                                                        \
        for (long i = 0; i < n; i++)                                                                                  \
            sum = sum * 31 + (unsigned long)x[i];                                                                     \
        printf("%s %lu\n", name, sum);                                                                                \
    }
SHOW(show, long)
SHOW(show_ints, int)
SHOW(show_bytes, unsigned char)
SHOW(show_words, unsigned short)

static void show_reals(const char *name, const double *x, long n)
{
    for (long i = 0; i < n; i += n / 7 + 1)
        printf("%s %.9g\n", name, x[i]);
}

/* n + 1 ascending offsets, up to `most` apart. */
static int *offsets(long n, int most)
{
    int *p = malloc((size_t)(n + 1) * sizeof *p);
    p[0] = 0;
    for (long i = 0; i < n; i++)
        p[i + 1] = p[i] + (int)(draw() % (unsigned)(most + 1));
    return p;
}

static int *permutation(long n)
{
    int *p = malloc((size_t)n * sizeof *p);
    for (long i = 0; i < n; i++)
        p[i] = (int)i;
    for (long i = n - 1; i > 0; i--) {
        long j = draw() % (unsigned)(i + 1);
        int t = p[i];
        p[i] = p[j];
        p[j] = t;
    }
    return p;
}
