/*
 * spmv_cg: implicit diffusion by conjugate gradients on a finite-element matrix.
 *
 * A step of implicit Euler solves (M + L^2 K) x' = M x, where M is the lumped mass matrix and K the
 * stiffness matrix of linear triangles (the Laplacian with natural boundary conditions), and L is the
 * length over which one step smooths. The matrix is stored in compressed sparse rows, both triangles
 * of it, with the columns of a row in increasing order. Each solve starts from the previous solution.
 *
 * The mesh is read from an OFF file (x, y, elevation; triangles) and refined uniformly. What diffuses
 * is the elevation.
 *
 *     cc -O2 -std=c11 spmv_cg.c -o spmv_cg -lm
 *     ./spmv_cg --help
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SMOOTHING_LENGTH 5.0 /* m */

/* A triangulation with its edges. Corner k of triangle t is corner[3t+k]; side[3t+k] is the edge
   from corner k to corner k+1. */
typedef struct {
    int n_vertices, n_triangles, n_edges;
    double *x, *y, *z;
    int *corner, *side;
    int *ea, *eb;
} Triangulation;

/* Row i holds the entries start[i] to start[i+1]-1. */
typedef struct {
    int rows;
    int *start;
    int *column;
    double *value;
} Csr;

typedef struct {
    const char *path;
    int scale, steps, iterations, natural;
    double tolerance;
    uint64_t seed;
} Options;

/* ------------------------------------------------------------------------------------------------ */

static void fail(const char *where, const char *what)
{
    fprintf(stderr, "spmv_cg: %s: %s\n", where, what);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (p == NULL)
        fail("memory", "not enough for a mesh of this size");
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
/* Reading and refining the mesh                                                                     */

/* Skips blanks and comments (# to the end of the line). */
static void skip_blanks(FILE *f)
{
    int c;
    while ((c = getc(f)) != EOF) {
        if (c == '#')
            while ((c = getc(f)) != EOF && c != '\n')
                ;
        else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            ungetc(c, f);
            return;
        }
    }
}

static int read_int(FILE *f, const char *path)
{
    int value;
    skip_blanks(f);
    if (fscanf(f, "%d", &value) != 1)
        fail(path, "a whole number was expected");
    return value;
}

static double read_double(FILE *f, const char *path)
{
    double value;
    skip_blanks(f);
    if (fscanf(f, "%lf", &value) != 1 || !isfinite(value))
        fail(path, "a number was expected");
    return value;
}

typedef struct {
    int a, b, slot;
} Side;

static int compare_sides(const void *p, const void *q)
{
    const Side *s = p, *t = q;
    if (s->a != t->a)
        return s->a < t->a ? -1 : 1;
    return (s->b > t->b) - (s->b < t->b);
}

/* Fills in ea, eb and side from the corners of the triangles. */
static void find_edges(Triangulation *t, const char *path)
{
    int n = 3 * t->n_triangles;
    Side *sides = allocate((size_t)n, sizeof *sides);
    for (int i = 0; i < n; i++) {
        int p = t->corner[i], q = t->corner[i % 3 == 2 ? i - 2 : i + 1];
        sides[i] = (Side){p < q ? p : q, p < q ? q : p, i};
    }
    qsort(sides, (size_t)n, sizeof *sides, compare_sides);
    t->ea = new_ints(n);
    t->eb = new_ints(n);
    t->side = new_ints(n);
    t->n_edges = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || compare_sides(&sides[i - 1], &sides[i]) != 0) {
            t->ea[t->n_edges] = sides[i].a;
            t->eb[t->n_edges] = sides[i].b;
            t->n_edges++;
        } else if (i > 1 && compare_sides(&sides[i - 2], &sides[i]) == 0) {
            fail(path, "an edge belongs to more than two triangles");
        }
        t->side[sides[i].slot] = t->n_edges - 1;
    }
    free(sides);
}

static Triangulation read_mesh(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f == NULL)
        fail(path, "cannot be opened");
    skip_blanks(f);
    char magic[4] = "";
    if (fscanf(f, "%3s", magic) != 1 || strcmp(magic, "OFF") != 0)
        fail(path, "is not an OFF file");
    Triangulation t = {0};
    t.n_vertices = read_int(f, path);
    t.n_triangles = read_int(f, path);
    read_int(f, path); /* the number of edges: unused, often 0 */
    if (t.n_vertices < 3 || t.n_triangles < 1)
        fail(path, "holds no triangle");
    if (t.n_triangles > INT_MAX / 6 || t.n_vertices > INT_MAX / 6)
        fail(path, "is too large");
    t.x = new_doubles(t.n_vertices);
    t.y = new_doubles(t.n_vertices);
    t.z = new_doubles(t.n_vertices);
    t.corner = new_ints(3 * t.n_triangles);
    for (int v = 0; v < t.n_vertices; v++) {
        t.x[v] = read_double(f, path);
        t.y[v] = read_double(f, path);
        t.z[v] = read_double(f, path);
    }
    for (int i = 0; i < t.n_triangles; i++) {
        if (read_int(f, path) != 3)
            fail(path, "holds a face that is not a triangle");
        int *c = &t.corner[3 * i];
        for (int k = 0; k < 3; k++) {
            c[k] = read_int(f, path);
            if (c[k] < 0 || c[k] >= t.n_vertices)
                fail(path, "a triangle names a vertex that does not exist");
        }
        double area = (t.x[c[1]] - t.x[c[0]]) * (t.y[c[2]] - t.y[c[0]]) -
                      (t.x[c[2]] - t.x[c[0]]) * (t.y[c[1]] - t.y[c[0]]);
        if (!(area > 0))
            fail(path, "a triangle is flat or clockwise");
    }
    fclose(f);
    find_edges(&t, path);
    return t;
}

static void free_triangulation(Triangulation *t)
{
    free(t->x);
    free(t->y);
    free(t->z);
    free(t->corner);
    free(t->side);
    free(t->ea);
    free(t->eb);
}

/* The half of edge e that touches its end v: an edge is split into 2e (at ea) and 2e+1 (at eb). */
static int half_edge(const Triangulation *t, int e, int v)
{
    return t->ea[e] == v ? 2 * e : 2 * e + 1;
}

/* Splits every triangle into four. The vertex in the middle of edge e becomes n_vertices + e; the
   children of a triangle stay together. */
static Triangulation refine(const Triangulation *t)
{
    int nv = t->n_vertices, ne = t->n_edges, nt = t->n_triangles;
    Triangulation r = {.n_vertices = nv + ne, .n_triangles = 4 * nt, .n_edges = 2 * ne + 3 * nt};
    r.x = new_doubles(r.n_vertices);
    r.y = new_doubles(r.n_vertices);
    r.z = new_doubles(r.n_vertices);
    r.corner = new_ints(3 * r.n_triangles);
    r.side = new_ints(3 * r.n_triangles);
    r.ea = new_ints(r.n_edges);
    r.eb = new_ints(r.n_edges);
    memcpy(r.x, t->x, (size_t)nv * sizeof *r.x);
    memcpy(r.y, t->y, (size_t)nv * sizeof *r.y);
    memcpy(r.z, t->z, (size_t)nv * sizeof *r.z);
    for (int e = 0; e < ne; e++) {
        int a = t->ea[e], b = t->eb[e], middle = nv + e;
        r.x[middle] = 0.5 * (t->x[a] + t->x[b]);
        r.y[middle] = 0.5 * (t->y[a] + t->y[b]);
        r.z[middle] = 0.5 * (t->z[a] + t->z[b]);
        r.ea[2 * e] = a;
        r.eb[2 * e] = middle;
        r.ea[2 * e + 1] = middle;
        r.eb[2 * e + 1] = b;
    }
    for (int i = 0; i < nt; i++) {
        const int *corner = &t->corner[3 * i], *side = &t->side[3 * i];
        int *child_corner = &r.corner[12 * i], *child_side = &r.side[12 * i];
        for (int k = 0; k < 3; k++) {
            int last = (k + 2) % 3, inner = 2 * ne + 3 * i + k;
            /* the new edge that cuts off corner k */
            r.ea[inner] = nv + side[k];
            r.eb[inner] = nv + side[last];
            /* the child at corner k */
            child_corner[3 * k] = corner[k];
            child_corner[3 * k + 1] = nv + side[k];
            child_corner[3 * k + 2] = nv + side[last];
            child_side[3 * k] = half_edge(t, side[k], corner[k]);
            child_side[3 * k + 1] = inner;
            child_side[3 * k + 2] = half_edge(t, side[last], corner[k]);
            /* the child in the middle */
            child_corner[9 + k] = nv + side[k];
            child_side[9 + k] = 2 * ne + 3 * i + (k + 1) % 3;
        }
    }
    return r;
}

/* ------------------------------------------------------------------------------------------------ */
/* The matrix                                                                                        */

/* Finds where the entry (row, column) of the matrix is stored. */
static int find_entry(const Csr *a, int row, int column)
{
    int low = a->start[row], high = a->start[row + 1] - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (a->column[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Stores the column in the row, of which the first `filled` places are taken, in increasing order. */
static void insert_column(Csr *a, int row, int filled, int column)
{
    int i = a->start[row] + filled;
    for (; i > a->start[row] && a->column[i - 1] > column; i--)
        a->column[i] = a->column[i - 1];
    a->column[i] = column;
}

/* The pattern: the diagonal and two entries for each edge. */
static Csr make_pattern(const Triangulation *t, const int *number)
{
    int n = t->n_vertices;
    Csr a = {.rows = n, .start = new_ints(n + 1)};
    for (int v = 0; v < n; v++)
        a.start[v + 1] = 1;
    for (int e = 0; e < t->n_edges; e++) {
        a.start[number[t->ea[e]] + 1]++;
        a.start[number[t->eb[e]] + 1]++;
    }
    for (int v = 0; v < n; v++)
        a.start[v + 1] += a.start[v];
    a.column = new_ints(a.start[n]);
    a.value = new_doubles(a.start[n]);
    int *filled = new_ints(n);
    for (int v = 0; v < n; v++)
        insert_column(&a, v, filled[v]++, v);
    for (int e = 0; e < t->n_edges; e++) {
        int p = number[t->ea[e]], q = number[t->eb[e]];
        insert_column(&a, p, filled[p]++, q);
        insert_column(&a, q, filled[q]++, p);
    }
    free(filled);
    return a;
}

/* Assembles M + length^2 K. Vertex v of the mesh becomes row number[v]. */
static Csr assemble(const Triangulation *t, const int *number, double length)
{
    int n = t->n_vertices;
    double *weight = new_doubles(t->n_edges), *diagonal = new_doubles(n);
    for (int i = 0; i < t->n_triangles; i++) {
        const int *c = &t->corner[3 * i], *side = &t->side[3 * i];
        double area2 = (t->x[c[1]] - t->x[c[0]]) * (t->y[c[2]] - t->y[c[0]]) -
                       (t->x[c[2]] - t->x[c[0]]) * (t->y[c[1]] - t->y[c[0]]);
        for (int k = 0; k < 3; k++) {
            int p = c[k], q = c[(k + 1) % 3], r = c[(k + 2) % 3];
            double dot = (t->x[p] - t->x[r]) * (t->x[q] - t->x[r]) + (t->y[p] - t->y[r]) * (t->y[q] - t->y[r]);
            weight[side[k]] += 0.5 * dot / area2; /* half the cotangent of the angle at r */
            diagonal[p] += area2 / 6;
        }
    }
    Csr a = make_pattern(t, number);
    for (int e = 0; e < t->n_edges; e++) {
        int p = t->ea[e], q = t->eb[e];
        double w = length * length * weight[e];
        a.value[find_entry(&a, number[p], number[q])] = -w;
        a.value[find_entry(&a, number[q], number[p])] = -w;
        diagonal[p] += w;
        diagonal[q] += w;
    }
    for (int v = 0; v < n; v++)
        a.value[find_entry(&a, number[v], number[v])] = diagonal[v];
    free(weight);
    free(diagonal);
    return a;
}

/* The diagonal of the lumped mass matrix, and the elevation, both in the order of the rows. */
static double *lumped_mass(const Triangulation *t, const int *number)
{
    double *mass = new_doubles(t->n_vertices);
    for (int i = 0; i < t->n_triangles; i++) {
        const int *c = &t->corner[3 * i];
        double area2 = (t->x[c[1]] - t->x[c[0]]) * (t->y[c[2]] - t->y[c[0]]) -
                       (t->x[c[2]] - t->x[c[0]]) * (t->y[c[1]] - t->y[c[0]]);
        for (int k = 0; k < 3; k++)
            mass[number[c[k]]] += area2 / 6;
    }
    return mass;
}

static double *elevation(const Triangulation *t, const int *number)
{
    double *z = new_doubles(t->n_vertices);
    for (int v = 0; v < t->n_vertices; v++)
        z[number[v]] = t->z[v];
    return z;
}

static void free_csr(Csr *a)
{
    free(a->start);
    free(a->column);
    free(a->value);
}

/* Numbers the vertices in the order in which the triangles use them: the children of a triangle lie
   together, so neighbours get close numbers. */
static int *number_by_first_use(const Triangulation *t)
{
    int *number = new_ints(t->n_vertices), next = 0;
    for (int v = 0; v < t->n_vertices; v++)
        number[v] = -1;
    for (int i = 0; i < 3 * t->n_triangles; i++)
        if (number[t->corner[i]] < 0)
            number[t->corner[i]] = next++;
    for (int v = 0; v < t->n_vertices; v++)
        if (number[v] < 0)
            number[v] = next++;
    return number;
}

/* ------------------------------------------------------------------------------------------------ */
/* The solver                                                                                        */

/* y = A x */
static void spmv(const Csr *a, const double *x, double *y)
{
    for (int i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int k = a->start[i]; k < a->start[i + 1]; k++)
            sum += a->value[k] * x[a->column[k]];
        y[i] = sum;
    }
}

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* y = y + alpha x */
static void axpy(int n, double alpha, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

/* y = x + beta y */
static void xpby(int n, const double *x, double beta, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i] + beta * y[i];
}

/* Solves A x = b by conjugate gradients, starting from the x that is given. Stops when the norm of the
   residual is at most `tolerance` times that of b, or after `limit` iterations. Returns the number of
   iterations and stores the norm of the residual, computed afresh from x. */
static int conjugate_gradients(const Csr *a, const double *b, double *x, double tolerance, int limit, double *norm)
{
    int n = a->rows, iterations = 0;
    double *r = new_doubles(n), *p = new_doubles(n), *q = new_doubles(n);
    spmv(a, x, r);
    xpby(n, b, -1, r);
    memcpy(p, r, (size_t)n * sizeof *p);
    double rr = dot(n, r, r), target = tolerance * tolerance * dot(n, b, b);
    while (iterations < limit && rr > target) {
        spmv(a, p, q);
        double alpha = rr / dot(n, p, q);
        axpy(n, alpha, p, x);
        axpy(n, -alpha, q, r);
        double old = rr;
        rr = dot(n, r, r);
        xpby(n, r, rr / old, p);
        iterations++;
    }
    spmv(a, x, r);
    xpby(n, b, -1, r);
    *norm = sqrt(dot(n, r, r));
    free(r);
    free(p);
    free(q);
    return iterations;
}

/* ------------------------------------------------------------------------------------------------ */

static void usage(FILE *out)
{
    fputs("usage: spmv_cg [--scale N] [--steps N] [--iterations N] [--tolerance T] [--scatter | --natural]\n"
          "               [--seed N] [MESHFILE]\n"
          "\n"
          "  --scale N       refine the mesh N times, each triangle into four (default 4)\n"
          "  --steps N       number of time steps, each one solve (default 6)\n"
          "  --iterations N  largest number of iterations of a solve (default 60)\n"
          "  --tolerance T   a solve stops when its residual is T times its right-hand side (default 1e-5)\n"
          "  --scatter       number the rows at random (default)\n"
          "  --natural       number them along the mesh\n"
          "  --seed N        seed of the random numbering (default 1)\n"
          "  MESHFILE        OFF file of triangles (default samples/data/merimbula.off or data/merimbula.off)\n",
          out);
}

static void usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "spmv_cg: %s: %s\n", argument, what);
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
        fprintf(stderr, "spmv_cg: %s takes a whole number from %ld to %ld, not '%s'\n", option, low, high, text);
        exit(2);
    }
    return value;
}

static double tolerance_argument(const char *option, const char *text)
{
    char *end;
    if (text == NULL)
        usage_error("needs a number", option);
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value < 1)) {
        fprintf(stderr, "spmv_cg: %s takes a number from 0 to 1, not '%s'\n", option, text);
        exit(2);
    }
    return value;
}

static const char *default_mesh(void)
{
    const char *here = "samples/data/merimbula.off";
    FILE *f = fopen(here, "r");
    if (f == NULL)
        return "data/merimbula.off";
    fclose(f);
    return here;
}

static Options parse_options(int argc, char **argv)
{
    Options o = {.path = NULL, .scale = 4, .steps = 6, .iterations = 60, .natural = 0, .tolerance = 1e-5, .seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (strcmp(arg, "--scale") == 0)
            o.scale = (int)number_argument(arg, argv[++i], 0, 12);
        else if (strcmp(arg, "--steps") == 0)
            o.steps = (int)number_argument(arg, argv[++i], 0, 1000000);
        else if (strcmp(arg, "--tolerance") == 0)
            o.tolerance = tolerance_argument(arg, argv[++i]);
        else if (strcmp(arg, "--iterations") == 0)
            o.iterations = (int)number_argument(arg, argv[++i], 1, 1000000);
        else if (strcmp(arg, "--seed") == 0)
            o.seed = (uint64_t)number_argument(arg, argv[++i], 0, LONG_MAX);
        else if (strcmp(arg, "--scatter") == 0)
            o.natural = 0;
        else if (strcmp(arg, "--natural") == 0)
            o.natural = 1;
        else if (arg[0] == '-')
            usage_error("unknown option", arg);
        else if (o.path != NULL)
            usage_error("one mesh file is enough", arg);
        else
            o.path = arg;
    }
    if (o.path == NULL)
        o.path = default_mesh();
    return o;
}

int main(int argc, char **argv)
{
    Options o = parse_options(argc, argv);
    double begin = seconds();
    Triangulation t = read_mesh(o.path);
    for (int i = 0; i < o.scale; i++) {
        if (2LL * t.n_edges + 3LL * t.n_triangles > INT_MAX / 8)
            fail(o.path, "the refined mesh would be too large; try a smaller --scale");
        Triangulation finer = refine(&t);
        free_triangulation(&t);
        t = finer;
    }
    uint64_t random = o.seed;
    int *number = o.natural ? number_by_first_use(&t) : random_permutation(t.n_vertices, &random);
    Csr a = assemble(&t, number, SMOOTHING_LENGTH);
    double *mass = lumped_mass(&t, number), *x = elevation(&t, number), *b = new_doubles(a.rows);
    free(number);
    free_triangulation(&t);
    printf("%d rows, %d nonzeros, norm of the start %.12e\n", a.rows, a.start[a.rows], sqrt(dot(a.rows, x, x)));

    double start = seconds();
    for (int step = 1; step <= o.steps; step++) {
        double residual;
        for (int i = 0; i < a.rows; i++)
            b[i] = mass[i] * x[i];
        int iterations = conjugate_gradients(&a, b, x, o.tolerance, o.iterations, &residual);
        printf("step %3d  %3d iterations  residual %.12e  solution %.12e  total %.12e\n", step, iterations, residual,
               sqrt(dot(a.rows, x, x)), dot(a.rows, mass, x));
    }
    double end = seconds();
    int good = isfinite(dot(a.rows, x, x));
    fprintf(stderr, "set-up %.3f s, time steps %.3f s\n", start - begin, end - start);
    free(b);
    free(x);
    free(mass);
    free_csr(&a);
    if (!good)
        fail(o.path, "the solution is not finite");
    return 0;
}
