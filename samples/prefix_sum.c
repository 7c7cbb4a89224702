/*
 * prefix_sum: a leaky accumulator over readings that are looked up in a table.
 *
 * Event i adds the reading of its sensor and keeps a share of what was there before:
 *
 *     level[i] = keep[i] * level[i-1] + reading[sensor[i]]
 *
 * With keep[i] = 1 this is a prefix sum. Each event needs the one before it. After every pass the level
 * that was reached in the end is fed back into the readings as their new offset.
 *
 *     cc -O2 -std=c11 prefix_sum.c -o prefix_sum -lm
 *     ./prefix_sum --help
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int n;
    double *keep;    /* share of the level that is kept, below one */
    int *sensor;     /* which reading an event takes */
    double *reading;
    double *level;
} Record;

typedef struct {
    int scale, steps, every, natural;
    uint64_t seed;
} Options;

static void fail(const char *where, const char *what)
{
    fprintf(stderr, "prefix_sum: %s: %s\n", where, what);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (p == NULL)
        fail("memory", "not enough for a record of this length");
    return p;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t r = *state += 0x9e3779b97f4a7c15u;
    r = (r ^ (r >> 30)) * 0xbf58476d1ce4e5b9u;
    r = (r ^ (r >> 27)) * 0x94d049bb133111ebu;
    return r ^ (r >> 31);
}

static double random_uniform(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

/* Events read their sensors in turn (natural) or in a random order that leaves none out. */
static Record make_record(const Options *o)
{
    int n = 1 << (16 + o->scale);
    Record r = {.n = n};
    r.keep = allocate((size_t)n, sizeof *r.keep);
    r.sensor = allocate((size_t)n, sizeof *r.sensor);
    r.reading = allocate((size_t)n, sizeof *r.reading);
    r.level = allocate((size_t)n, sizeof *r.level);
    uint64_t random = o->seed;
    for (int i = 0; i < n; i++) {
        r.keep[i] = 0.9 + 0.1 * random_uniform(&random);
        r.reading[i] = random_uniform(&random) - 0.5;
    }
    for (int i = 0; i < n; i++)
        r.sensor[i] = i;
    if (!o->natural)
        for (int i = n - 1; i > 0; i--) {
            int j = (int)(((next_random(&random) >> 32) * (uint64_t)(i + 1)) >> 32);
            int swap = r.sensor[i];
            r.sensor[i] = r.sensor[j];
            r.sensor[j] = swap;
        }
    return r;
}

static void free_record(Record *r)
{
    free(r->keep);
    free(r->sensor);
    free(r->reading);
    free(r->level);
}

static void accumulate(Record *r, double first)
{
    r->level[0] = first + r->reading[r->sensor[0]];
    for (int i = 1; i < r->n; i++)
        r->level[i] = r->keep[i] * r->level[i - 1] + r->reading[r->sensor[i]];
}

/* Moves all readings a little towards the level that was reached. */
static void feed_back(Record *r)
{
    double offset = 1e-5 * r->level[r->n - 1];
    for (int i = 0; i < r->n; i++)
        r->reading[i] = 0.999 * r->reading[i] + offset;
}

static double norm(int n, const double *x)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static void usage(FILE *out)
{
    fputs("usage: prefix_sum [--scale N] [--steps N] [--every N] [--scatter | --natural] [--seed N]\n"
          "\n"
          "  --scale N    a record of 2^(16+N) events (default 8)\n"
          "  --steps N    number of passes (default 16)\n"
          "  --every N    print norms every N passes (default 4)\n"
          "  --scatter    events look up the sensors in a random order (default)\n"
          "  --natural    they look them up in turn\n"
          "  --seed N     seed of the random numbers (default 1)\n",
          out);
}

static void usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "prefix_sum: %s: %s\n", argument, what);
    usage(stderr);
    exit(2);
}

static long number_argument(const char *option, const char *text, long low, long high)
{
    char *end;
    if (text == NULL)
        usage_error("needs a number", option);
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < low || value > high) {
        fprintf(stderr, "prefix_sum: %s takes a whole number from %ld to %ld, not '%s'\n", option, low, high, text);
        exit(2);
    }
    return value;
}

static Options parse_options(int argc, char **argv)
{
    Options o = {.scale = 8, .steps = 16, .every = 4, .natural = 0, .seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (strcmp(arg, "--scale") == 0)
            o.scale = (int)number_argument(arg, argv[++i], 0, 12);
        else if (strcmp(arg, "--steps") == 0)
            o.steps = (int)number_argument(arg, argv[++i], 0, 1000000);
        else if (strcmp(arg, "--every") == 0)
            o.every = (int)number_argument(arg, argv[++i], 1, 1000000);
        else if (strcmp(arg, "--seed") == 0)
            o.seed = (uint64_t)number_argument(arg, argv[++i], 0, LONG_MAX);
        else if (strcmp(arg, "--scatter") == 0)
            o.natural = 0;
        else if (strcmp(arg, "--natural") == 0)
            o.natural = 1;
        else
            usage_error("unknown option", arg);
    }
    return o;
}

int main(int argc, char **argv)
{
    Options o = parse_options(argc, argv);
    double begin = seconds();
    Record r = make_record(&o);
    printf("%d events\n", r.n);

    double start = seconds(), last = 0;
    for (int pass = 1; pass <= o.steps; pass++) {
        accumulate(&r, last);
        feed_back(&r);
        last = r.level[r.n - 1];
        if (pass % o.every == 0 || pass == o.steps)
            printf("pass %4d  last %.12e  level %.12e  reading %.12e\n", pass, last, norm(r.n, r.level),
                   norm(r.n, r.reading));
    }
    double end = seconds();
    fprintf(stderr, "set-up %.3f s, passes %.3f s\n", start - begin, end - start);
    free_record(&r);
    return 0;
}
