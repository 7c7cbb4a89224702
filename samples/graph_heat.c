/*
 * graph_heat: heat that spreads through a network.
 *
 * Every vertex holds heat, every edge conducts it: in a step the flow along an edge is its conductance
 * times the difference of the temperatures at its ends. The capacity of a vertex is the sum of the
 * conductances at it, and a step moves at most half of what it holds (a lazy random walk), so the steps
 * are stable on any graph. A circuit of resistors, seen from its nodes, is computed in the same way.
 *
 * The graph is a Matrix Market file (coordinate; an entry off the diagonal is an edge, its absolute
 * value the conductance, 1 without values), a list of edges (two numbers from 0 a line, and the
 * conductance if it is not 1), or a random graph with a few vertices of very many edges, made by
 * recursive quartering (R-MAT; Chakrabarti, Zhan and Faloutsos, SDM 2004) with the shares of Graph500.
 *
 *     cc -O2 -std=c11 graph_heat.c -o graph_heat -lm
 *     ./graph_heat --help
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EDGES_PER_VERTEX 8 /* of the random graph */
#define HOT_EVERY 64       /* vertices 0, 64, 128, and so on start hot */
#define HOT 100.0

/* Edge e joins from[e] and to[e]. */
typedef struct {
    int n_vertices, n_edges;
    int *from, *to;
    double *conductance;
} Graph;

typedef struct {
    const char *path;
    int scale, steps, every, natural;
    uint64_t seed;
} Options;

/* ------------------------------------------------------------------------------------------------ */

static void fail(const char *where, const char *what)
{
    fprintf(stderr, "graph_heat: %s: %s\n", where, what);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (p == NULL)
        fail("memory", "not enough for a graph of this size");
    return p;
}

static double *new_doubles(int n) { return allocate((size_t)n, sizeof(double)); }
static int *new_ints(int n) { return allocate((size_t)n, sizeof(int)); }

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

/* A random permutation of 0..n-1 (Fisher-Yates). */
static int *random_permutation(int n, uint64_t *state)
{
    int *p = new_ints(n);
    for (int i = 0; i < n; i++) {
        int j = (int)(((next_random(state) >> 32) * (uint64_t)(i + 1)) >> 32);
        p[i] = p[j];
        p[j] = i;
    }
    return p;
}

/* ------------------------------------------------------------------------------------------------ */
/* Graphs                                                                                            */

static Graph new_graph(int n_vertices, int n_edges)
{
    Graph g = {.n_vertices = n_vertices, .n_edges = n_edges};
    g.from = new_ints(n_edges);
    g.to = new_ints(n_edges);
    g.conductance = new_doubles(n_edges);
    return g;
}

static void free_graph(Graph *g)
{
    free(g->from);
    free(g->to);
    free(g->conductance);
}

/* A random graph of 2^scale vertices. Each bit of the two ends of an edge is drawn with the shares 57, 19,
   19 and 5 %; an edge from a vertex to itself is drawn again. */
static Graph make_graph(int scale, uint64_t *state)
{
    int n = 1 << scale;
    Graph g = new_graph(n, n * EDGES_PER_VERTEX);
    for (int e = 0; e < g.n_edges; e++) {
        int u = 0, v = 0;
        while (u == v) {
            u = v = 0;
            for (int bit = 0; bit < scale; bit++) {
                int percent = (int)(((next_random(state) >> 32) * 100) >> 32);
                u = 2 * u + (percent >= 76);
                v = 2 * v + ((percent >= 57 && percent < 76) || percent >= 95);
            }
        }
        g.from[e] = u;
        g.to[e] = v;
        g.conductance[e] = 1;
    }
    return g;
}

/* The next line that is not empty and no comment; 0 at the end. */
static int next_line(FILE *f, char *line, int size)
{
    while (fgets(line, size, f) != NULL) {
        char *word = line + strspn(line, " \t\r\n");
        if (*word != '\0' && *word != '#' && *word != '%')
            return 1;
    }
    return 0;
}

static long read_whole(char **text, const char *path)
{
    char *end;
    long value = strtol(*text, &end, 10);
    if (end == *text)
        fail(path, "a whole number was expected");
    *text = end;
    return value;
}

/* What follows the two ends of an edge on its line: its conductance, 1 when there is nothing. */
static double read_conductance(char *text, const char *path)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text)
        value = 1;
    if (!isfinite(value))
        fail(path, "a conductance is not finite");
    return fabs(value);
}

static void read_edge(char *line, const char *path, long first, Graph *g, int room)
{
    long u = read_whole(&line, path) - first, v = read_whole(&line, path) - first;
    if (u < 0 || v < 0 || u >= INT_MAX || v >= INT_MAX)
        fail(path, "a vertex has an impossible number");
    double conductance = read_conductance(line, path);
    if (u == v)
        return;
    if (g->n_edges == room)
        fail(path, "holds more edges than it says");
    g->from[g->n_edges] = (int)u;
    g->to[g->n_edges] = (int)v;
    g->conductance[g->n_edges++] = conductance;
}

static Graph read_matrix(FILE *f, char *line, int size, const char *path)
{
    if (strstr(line, "coordinate") == NULL || strstr(line, "complex") != NULL)
        fail(path, "is not a real or pattern matrix in coordinate form");
    if (!next_line(f, line, size))
        fail(path, "holds no matrix");
    char *text = line;
    long rows = read_whole(&text, path), columns = read_whole(&text, path), entries = read_whole(&text, path);
    if (rows != columns || rows < 1 || rows >= INT_MAX || entries < 0 || entries >= INT_MAX)
        fail(path, "is not a square matrix of a size that can be read");
    Graph g = new_graph((int)rows, (int)entries);
    g.n_edges = 0;
    while (next_line(f, line, size))
        read_edge(line, path, 1, &g, (int)entries);
    for (int e = 0; e < g.n_edges; e++)
        if (g.from[e] >= rows || g.to[e] >= rows)
            fail(path, "an entry lies outside of the matrix");
    return g;
}

static Graph read_list(FILE *f, char *line, int size, const char *path)
{
    int room = 1 << 16;
    Graph g = new_graph(0, room);
    g.n_edges = 0;
    for (int more = 1; more; more = next_line(f, line, size)) {
        if (g.n_edges == room) {
            if (room > INT_MAX / 2)
                fail(path, "is too large");
            room *= 2;
            g.from = realloc(g.from, (size_t)room * sizeof *g.from);
            g.to = realloc(g.to, (size_t)room * sizeof *g.to);
            g.conductance = realloc(g.conductance, (size_t)room * sizeof *g.conductance);
            if (g.from == NULL || g.to == NULL || g.conductance == NULL)
                fail("memory", "not enough for a graph of this size");
        }
        read_edge(line, path, 0, &g, room);
    }
    for (int e = 0; e < g.n_edges; e++) {
        int last = g.from[e] > g.to[e] ? g.from[e] : g.to[e];
        g.n_vertices = last >= g.n_vertices ? last + 1 : g.n_vertices;
    }
    return g;
}

static Graph read_graph(const char *path)
{
    char line[1024] = "";
    FILE *f = fopen(path, "r");
    if (f == NULL)
        fail(path, "cannot be opened");
    int matrix = fgets(line, sizeof line, f) != NULL && strncmp(line, "%%MatrixMarket", 14) == 0;
    if (!matrix) {
        rewind(f);
        if (!next_line(f, line, sizeof line))
            fail(path, "holds no edge");
    }
    Graph g = matrix ? read_matrix(f, line, sizeof line, path) : read_list(f, line, sizeof line, path);
    fclose(f);
    if (g.n_edges == 0)
        fail(path, "holds no edge");
    return g;
}

/* ------------------------------------------------------------------------------------------------ */
/* Heat                                                                                              */

/* What every vertex gains in one step. */
static void edge_flows(const Graph *g, const double *temperature, double *gain)
{
    for (int e = 0; e < g->n_edges; e++) {
        int u = g->from[e], v = g->to[e];
        double flow = g->conductance[e] * (temperature[u] - temperature[v]);
        gain[u] -= flow;
        gain[v] += flow;
    }
}

static void spread(const Graph *g, const double *capacity, double *temperature, double *gain, int steps)
{
    for (int step = 0; step < steps; step++) {
        for (int v = 0; v < g->n_vertices; v++)
            gain[v] = 0;
        edge_flows(g, temperature, gain);
        for (int v = 0; v < g->n_vertices; v++)
            temperature[v] += 0.5 * gain[v] / capacity[v];
    }
}

static double *capacities(const Graph *g)
{
    double *capacity = new_doubles(g->n_vertices);
    for (int e = 0; e < g->n_edges; e++) {
        capacity[g->from[e]] += g->conductance[e];
        capacity[g->to[e]] += g->conductance[e];
    }
    for (int v = 0; v < g->n_vertices; v++)
        if (!(capacity[v] > 0))
            capacity[v] = 1; /* nothing flows here */
    return capacity;
}

static void print_totals(const Graph *g, const double *capacity, const double *temperature, int step)
{
    double heat = 0, square = 0, hottest = 0;
    for (int v = 0; v < g->n_vertices; v++) {
        heat += capacity[v] * temperature[v];
        square += capacity[v] * temperature[v] * temperature[v];
        hottest = temperature[v] > hottest ? temperature[v] : hottest;
    }
    printf("step %4d  heat %.12e  norm %.12e  hottest %.12e\n", step, heat, sqrt(square), hottest);
}

/* ------------------------------------------------------------------------------------------------ */

static void usage(FILE *out)
{
    fputs("usage: graph_heat [--scale N] [--steps N] [--every N] [--scatter | --natural] [--seed N] [GRAPHFILE]\n"
          "\n"
          "  --scale N    without a file: a random graph of 2^N vertices (default 20)\n"
          "  --steps N    number of time steps (default 24)\n"
          "  --every N    print totals every N steps (default 8)\n"
          "  --scatter    number the vertices at random (default)\n"
          "  --natural    keep the numbers of the file, or those that the random graph is made with\n"
          "  --seed N     seed of the random graph and of the random numbering (default 1)\n"
          "  GRAPHFILE    Matrix Market file, or list of edges (default: a random graph)\n",
          out);
}

static void usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "graph_heat: %s: %s\n", argument, what);
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
        fprintf(stderr, "graph_heat: %s takes a whole number from %ld to %ld, not '%s'\n", option, low, high, text);
        exit(2);
    }
    return value;
}

static Options parse_options(int argc, char **argv)
{
    Options o = {.path = NULL, .scale = 20, .steps = 24, .every = 8, .natural = 0, .seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (strcmp(arg, "--scale") == 0)
            o.scale = (int)number_argument(arg, argv[++i], 1, 26);
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
        else if (arg[0] == '-')
            usage_error("unknown option", arg);
        else if (o.path != NULL)
            usage_error("one graph is enough", arg);
        else
            o.path = arg;
    }
    return o;
}

int main(int argc, char **argv)
{
    Options o = parse_options(argc, argv);
    double begin = seconds();
    uint64_t random = o.seed;
    Graph g = o.path ? read_graph(o.path) : make_graph(o.scale, &random);
    double *temperature = new_doubles(g.n_vertices), *gain = new_doubles(g.n_vertices);
    if (o.natural) {
        for (int v = 0; v < g.n_vertices; v += HOT_EVERY)
            temperature[v] = HOT;
    } else {
        int *number = random_permutation(g.n_vertices, &random);
        for (int v = 0; v < g.n_vertices; v += HOT_EVERY)
            temperature[number[v]] = HOT;
        for (int e = 0; e < g.n_edges; e++) {
            g.from[e] = number[g.from[e]];
            g.to[e] = number[g.to[e]];
        }
        free(number);
    }
    double *capacity = capacities(&g);
    printf("%d vertices, %d edges\n", g.n_vertices, g.n_edges);
    print_totals(&g, capacity, temperature, 0);
    double start = seconds();
    for (int step = 0; step < o.steps; step += o.every) {
        int count = o.steps - step < o.every ? o.steps - step : o.every;
        spread(&g, capacity, temperature, gain, count);
        print_totals(&g, capacity, temperature, step + count);
    }
    fprintf(stderr, "set-up %.3f s, time steps %.3f s\n", start - begin, seconds() - start);
    free(temperature);
    free(gain);
    free(capacity);
    free_graph(&g);
    return 0;
}
