/*
 * What the programs of this folder share: their arguments (SIZE STEPS SEED), memory, and random numbers.
 *
 * With -DFIXED a program takes the simple remedy that its head comment names, in place of what it does without.
 */
#ifndef SPAC_H
#define SPAC_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef FIXED
enum { REMEDY = 1 };
#else
enum { REMEDY = 0 };
#endif

typedef struct {
    int size, steps;
    uint64_t random; /* state of the generator */
} Arguments;

static inline int argument(const char *word, int least, int most)
{
    char *end;
    long value = strtol(word, &end, 10);
    if (*word == 0 || *end != 0 || value < least || value > most) {
        fprintf(stderr, "%s: a number from %d to %d was expected (SIZE STEPS SEED)\n", word, least, most);
        exit(2);
    }
    return (int)value;
}

/* The arguments, or these; sizes up to `most`. */
static inline Arguments arguments(int argc, char **argv, int size, int most, int steps)
{
    if (argc > 4) {
        fprintf(stderr, "usage: %s [SIZE [STEPS [SEED]]]\n", argv[0]);
        exit(2);
    }
    Arguments found = {size, steps, 1};
    if (argc > 1)
        found.size = argument(argv[1], 4, most);
    if (argc > 2)
        found.steps = argument(argv[2], 1, 1000000);
    if (argc > 3)
        found.random = (uint64_t)argument(argv[3], 0, 1000000000);
    return found;
}

static inline void *allocate(size_t count, size_t size)
{
    void *made = calloc(count, size);
    if (made == NULL) {
        fprintf(stderr, "there is not enough memory for this size\n");
        exit(1);
    }
    return made;
}

static inline float *new_floats(int n) { return allocate((size_t)n, sizeof(float)); }
static inline double *new_doubles(int n) { return allocate((size_t)n, sizeof(double)); }
static inline int *new_ints(int n) { return allocate((size_t)n, sizeof(int)); }

/* A number from 0 to bound - 1: a multiplicative congruential generator of 64 bits, its upper half. */
static inline int draw(uint64_t *random, int bound)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (int)(((*random >> 32) * (uint64_t)bound) >> 32);
}

/* A number from 0 to 1. */
static inline double draw_unit(uint64_t *random) { return draw(random, 1 << 30) * (1.0 / (1 << 30)); }

/* New numbers of 0 ... n - 1: at random, or the old ones if they are to stay as they are. */
static inline int *new_numbers(int n, int stay, uint64_t *random)
{
    int *number = new_ints(n);
    for (int i = 0; i < n; i++)
        number[i] = i;
    for (int i = n - 1; i > 0 && !stay; i--) {
        int other = draw(random, i + 1), kept = number[i];
        number[i] = number[other];
        number[other] = kept;
    }
    return number;
}

static inline double seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Tells the time of the steps, apart from the results. */
static inline void tell_time(double start) { fprintf(stderr, "time steps %.3f s\n", seconds() - start); }

#endif
