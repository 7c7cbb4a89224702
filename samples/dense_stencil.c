/*
 * dense_stencil: Poisson's equation on a square by Jacobi's method.
 *
 * Five-point stencil on a regular grid with zero on the boundary, the right-hand side being two point
 * charges of opposite sign. Two grids change places after every sweep.
 *
 *     cc -O2 -std=c11 dense_stencil.c -o dense_stencil -lm
 *     ./dense_stencil --help
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    int n;              /* interior points in each direction */
    double spacing;
    double *now, *next; /* (n + 2) x (n + 2) values, the outermost ones zero */
    double *charge;
} Grid;

typedef struct {
    int scale, steps, every;
} Options;

static void fail(const char *where, const char *what)
{
    fprintf(stderr, "dense_stencil: %s: %s\n", where, what);
    exit(1);
}

static double *new_field(int n)
{
    size_t side = (size_t)n + 2;
    double *p = calloc(side * side, sizeof *p);
    if (p == NULL)
        fail("memory", "not enough for a grid of this size");
    return p;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static Grid make_grid(int n)
{
    Grid g = {.n = n, .spacing = 1.0 / (n + 1)};
    g.now = new_field(n);
    g.next = new_field(n);
    g.charge = new_field(n);
    size_t side = (size_t)n + 2, quarter = side / 4;
    double density = 1 / (g.spacing * g.spacing);
    g.charge[quarter * side + quarter] = density;
    g.charge[(side - quarter) * side + side - quarter] = -density;
    return g;
}

static void free_grid(Grid *g)
{
    free(g->now);
    free(g->next);
    free(g->charge);
}

/* One sweep of Jacobi's method from g->now to g->next; then the two change places. */
static void sweep(Grid *g)
{
    const size_t side = (size_t)g->n + 2;
    const double h2 = g->spacing * g->spacing;
    for (size_t i = 1; i + 1 < side; i++)
        for (size_t j = 1; j + 1 < side; j++) {
            size_t k = i * side + j;
            g->next[k] = 0.25 * (g->now[k - side] + g->now[k + side] + g->now[k - 1] + g->now[k + 1] +
                                 h2 * g->charge[k]);
        }
    double *swap = g->now;
    g->now = g->next;
    g->next = swap;
}

/* Norms of the solution and of its change in the last sweep. */
static void print_norms(const Grid *g, int step)
{
    const size_t size = ((size_t)g->n + 2) * ((size_t)g->n + 2);
    double sum = 0, change = 0;
    for (size_t k = 0; k < size; k++) {
        double d = g->now[k] - g->next[k];
        sum += g->now[k] * g->now[k];
        change += d * d;
    }
    printf("sweep %5d  norm %.12e  change %.12e\n", step, sqrt(sum), sqrt(change));
}

static void usage(FILE *out)
{
    fputs("usage: dense_stencil [--scale N] [--steps N] [--every N]\n"
          "\n"
          "  --scale N    a grid of 250 x 2^N points in each direction (default 4)\n"
          "  --steps N    number of sweeps (default 120)\n"
          "  --every N    print norms every N sweeps (default 30)\n",
          out);
}

static int number_argument(const char *option, const char *text, long low, long high)
{
    char *end;
    if (text == NULL) {
        fprintf(stderr, "dense_stencil: %s: needs a number\n", option);
        usage(stderr);
        exit(2);
    }
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < low || value > high) {
        fprintf(stderr, "dense_stencil: %s takes a whole number from %ld to %ld, not '%s'\n", option, low, high,
                text);
        exit(2);
    }
    return (int)value;
}

static Options parse_options(int argc, char **argv)
{
    Options o = {.scale = 4, .steps = 120, .every = 30};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (strcmp(arg, "--scale") == 0)
            o.scale = number_argument(arg, argv[++i], 0, 6);
        else if (strcmp(arg, "--steps") == 0)
            o.steps = number_argument(arg, argv[++i], 0, 1000000);
        else if (strcmp(arg, "--every") == 0)
            o.every = number_argument(arg, argv[++i], 1, 1000000);
        else {
            fprintf(stderr, "dense_stencil: %s: unknown option\n", arg);
            usage(stderr);
            exit(2);
        }
    }
    return o;
}

int main(int argc, char **argv)
{
    Options o = parse_options(argc, argv);
    double begin = seconds();
    Grid g = make_grid(250 << o.scale);
    printf("%d x %d points\n", g.n, g.n);

    double start = seconds();
    for (int step = 1; step <= o.steps; step++) {
        sweep(&g);
        if (step % o.every == 0 || step == o.steps)
            print_norms(&g, step);
    }
    double end = seconds();
    fprintf(stderr, "set-up %.3f s, sweeps %.3f s\n", start - begin, end - start);
    free_grid(&g);
    return 0;
}
