/*
 * mesh_flux: shallow water with a dissolved dye on an unstructured triangle mesh.
 *
 * Vertex-centred finite volumes on the median dual of the mesh. The unknowns of a vertex are the
 * water depth h, the momenta hu and hv, and the amount of dye hc; the bed elevation z is fixed. Each
 * edge of the mesh carries one face of the dual. Its flux is Rusanov's (local Lax-Friedrichs) on
 * hydrostatically reconstructed depths (Audusse et al., SIAM J. Sci. Comput. 25, 2004), so that a
 * lake at rest stays at rest over any bed. The rim of the mesh is a wall. Time steps are explicit
 * Euler with a fixed step from the CFL condition at the start.
 *
 * The mesh is read from an OFF file (x, y, bed elevation; triangles) and refined uniformly.
 *
 *     cc -O2 -std=c11 mesh_flux.c -o mesh_flux -lm
 *     ./mesh_flux --help
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GRAVITY 9.81      /* m/s^2 */
#define DRY_DEPTH 1e-6    /* m; a shallower cell has no velocity */
#define STILL_LEVEL 2.0   /* m; elevation of the water at rest */
#define HUMP_HEIGHT 0.5   /* m; height of the hump that starts the motion */
#define CFL 0.4

/* A triangulation with its edges. Corner k of triangle t is corner[3t+k]; side[3t+k] is the edge
   from corner k to corner k+1. */
typedef struct {
    int n_vertices, n_triangles, n_edges;
    double *x, *y, *z;
    int *corner, *side;
    int *ea, *eb;
} Triangulation;

/* What the solver needs: dual cells (vertices), dual faces (edges) and the wall. The normal of a face
   points from ea to eb and is as long as the face. */
typedef struct {
    int n_vertices, n_edges, n_wall;
    double *x, *y, *z;
    double *volume;
    int *ea, *eb;
    double *nx, *ny;
    int *wall;
    double *wall_nx, *wall_ny;
} Mesh;

typedef struct {
    double *h, *hu, *hv, *hc;
    double *res_h, *res_hu, *res_hv, *res_hc;
} State;

typedef struct {
    const char *path;
    int scale, steps, every, natural;
    uint64_t seed;
} Options;

/* ------------------------------------------------------------------------------------------------ */

static void fail(const char *where, const char *what)
{
    fprintf(stderr, "mesh_flux: %s: %s\n", where, what);
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
/* The dual mesh                                                                                     */

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

/* Places for the edges such that they are sorted by (lower, higher) vertex number. */
static int *sort_edges(const Triangulation *t, const int *number)
{
    int ne = t->n_edges, *start = new_ints(t->n_vertices + 1), *order = new_ints(ne), *high = new_ints(ne);
    for (int e = 0; e < ne; e++) {
        int a = number[t->ea[e]], b = number[t->eb[e]];
        start[(a < b ? a : b) + 1]++;
        high[e] = a < b ? b : a;
    }
    for (int v = 0; v < t->n_vertices; v++)
        start[v + 1] += start[v];
    int *fill = new_ints(t->n_vertices);
    for (int e = 0; e < ne; e++) {
        int a = number[t->ea[e]], b = number[t->eb[e]], low = a < b ? a : b;
        int i = start[low] + fill[low]++;
        for (; i > start[low] && high[order[i - 1]] > high[e]; i--)
            order[i] = order[i - 1];
        order[i] = e;
    }
    int *place = new_ints(ne);
    for (int i = 0; i < ne; i++)
        place[order[i]] = i;
    free(start);
    free(fill);
    free(order);
    free(high);
    return place;
}

/* Builds the median dual. Vertex v of the triangulation becomes number[v], edge e becomes place[e]. */
static Mesh build_dual(const Triangulation *t, const int *number, const int *place)
{
    int nv = t->n_vertices, ne = t->n_edges;
    double *nx = new_doubles(ne), *ny = new_doubles(ne), *volume = new_doubles(nv);
    int *uses = new_ints(ne);
    for (int i = 0; i < t->n_triangles; i++) {
        const int *c = &t->corner[3 * i], *side = &t->side[3 * i];
        double cx = (t->x[c[0]] + t->x[c[1]] + t->x[c[2]]) / 3;
        double cy = (t->y[c[0]] + t->y[c[1]] + t->y[c[2]]) / 3;
        double area = 0.5 * ((t->x[c[1]] - t->x[c[0]]) * (t->y[c[2]] - t->y[c[0]]) -
                             (t->x[c[2]] - t->x[c[0]]) * (t->y[c[1]] - t->y[c[0]]));
        for (int k = 0; k < 3; k++) {
            int p = c[k], q = c[(k + 1) % 3], e = side[k];
            /* the face runs from the middle of the edge to the centre of the triangle */
            double dx = cx - 0.5 * (t->x[p] + t->x[q]);
            double dy = cy - 0.5 * (t->y[p] + t->y[q]);
            double sign = t->ea[e] == p ? 1 : -1;
            nx[e] += sign * dy;
            ny[e] -= sign * dx;
            uses[e]++;
            volume[p] += area / 3;
        }
    }

    Mesh m = {.n_vertices = nv, .n_edges = ne};
    m.x = new_doubles(nv);
    m.y = new_doubles(nv);
    m.z = new_doubles(nv);
    m.volume = new_doubles(nv);
    m.ea = new_ints(ne);
    m.eb = new_ints(ne);
    m.nx = new_doubles(ne);
    m.ny = new_doubles(ne);
    for (int v = 0; v < nv; v++) {
        int i = number[v];
        m.x[i] = t->x[v];
        m.y[i] = t->y[v];
        m.z[i] = t->z[v];
        m.volume[i] = volume[v];
    }

    /* A dual cell at the rim is closed by minus the sum of its other faces. */
    double *sum_x = new_doubles(nv), *sum_y = new_doubles(nv);
    int *on_wall = new_ints(nv);
    for (int e = 0; e < ne; e++) {
        int a = t->ea[e], b = t->eb[e], i = place[e];
        int forward = number[a] < number[b];
        m.ea[i] = number[forward ? a : b];
        m.eb[i] = number[forward ? b : a];
        m.nx[i] = forward ? nx[e] : -nx[e];
        m.ny[i] = forward ? ny[e] : -ny[e];
        sum_x[a] += nx[e];
        sum_y[a] += ny[e];
        sum_x[b] -= nx[e];
        sum_y[b] -= ny[e];
        if (uses[e] == 1)
            on_wall[a] = on_wall[b] = 1;
    }
    for (int v = 0; v < nv; v++)
        m.n_wall += on_wall[v];
    m.wall = new_ints(m.n_wall);
    m.wall_nx = new_doubles(m.n_wall);
    m.wall_ny = new_doubles(m.n_wall);
    for (int v = 0, i = 0; v < nv; v++)
        if (on_wall[v]) {
            m.wall[i] = number[v];
            m.wall_nx[i] = -sum_x[v];
            m.wall_ny[i] = -sum_y[v];
            i++;
        }
    free(nx);
    free(ny);
    free(volume);
    free(uses);
    free(sum_x);
    free(sum_y);
    free(on_wall);
    return m;
}

static Mesh make_mesh(const Options *o)
{
    Triangulation t = read_mesh(o->path);
    for (int i = 0; i < o->scale; i++) {
        if (2LL * t.n_edges + 3LL * t.n_triangles > INT_MAX / 8)
            fail(o->path, "the refined mesh would be too large; try a smaller --scale");
        Triangulation finer = refine(&t);
        free_triangulation(&t);
        t = finer;
    }
    uint64_t random = o->seed;
    int *number = o->natural ? number_by_first_use(&t) : random_permutation(t.n_vertices, &random);
    int *place = o->natural ? sort_edges(&t, number) : random_permutation(t.n_edges, &random);
    Mesh m = build_dual(&t, number, place);
    free(number);
    free(place);
    free_triangulation(&t);
    return m;
}

static void free_mesh(Mesh *m)
{
    free(m->x);
    free(m->y);
    free(m->z);
    free(m->volume);
    free(m->ea);
    free(m->eb);
    free(m->nx);
    free(m->ny);
    free(m->wall);
    free(m->wall_nx);
    free(m->wall_ny);
}

/* ------------------------------------------------------------------------------------------------ */
/* The solver                                                                                        */

static double larger(double a, double b) { return a > b ? a : b; }

static double face_length(double nx, double ny) { return sqrt(nx * nx + ny * ny); }

/* Momentum times this is velocity. */
static double inverse_depth(double h) { return h > DRY_DEPTH ? 1 / h : 0; }

/* Water at rest with a smooth hump in the middle of the domain, which also carries the dye. */
static State initial_state(const Mesh *m)
{
    int n = m->n_vertices;
    State s;
    s.h = new_doubles(n);
    s.hu = new_doubles(n);
    s.hv = new_doubles(n);
    s.hc = new_doubles(n);
    s.res_h = new_doubles(n);
    s.res_hu = new_doubles(n);
    s.res_hv = new_doubles(n);
    s.res_hc = new_doubles(n);
    double x0 = m->x[0], x1 = x0, y0 = m->y[0], y1 = y0;
    for (int i = 1; i < n; i++) {
        x0 = m->x[i] < x0 ? m->x[i] : x0;
        x1 = m->x[i] > x1 ? m->x[i] : x1;
        y0 = m->y[i] < y0 ? m->y[i] : y0;
        y1 = m->y[i] > y1 ? m->y[i] : y1;
    }
    double radius = 0.1 * larger(x1 - x0, y1 - y0);
    for (int i = 0; i < n; i++) {
        double dx = (m->x[i] - 0.5 * (x0 + x1)) / radius, dy = (m->y[i] - 0.5 * (y0 + y1)) / radius;
        double bump = exp(-(dx * dx + dy * dy));
        s.h[i] = larger(STILL_LEVEL + HUMP_HEIGHT * bump - m->z[i], 0);
        s.hc[i] = s.h[i] * bump;
    }
    return s;
}

static void free_state(State *s)
{
    free(s->h);
    free(s->hu);
    free(s->hv);
    free(s->hc);
    free(s->res_h);
    free(s->res_hu);
    free(s->res_hv);
    free(s->res_hc);
}

/* The largest stable step: volume over the sum of wave speed times face length, times the CFL number.
   The sum is collected in res_h, which is zero before and after. */
static double time_step(const Mesh *m, State *s)
{
    for (int e = 0; e < m->n_edges; e++) {
        int a = m->ea[e], b = m->eb[e];
        double c = sqrt(GRAVITY * larger(s->h[a], s->h[b])) * face_length(m->nx[e], m->ny[e]);
        s->res_h[a] += c;
        s->res_h[b] += c;
    }
    double dt = HUGE_VAL;
    for (int i = 0; i < m->n_vertices; i++) {
        if (s->res_h[i] > 0 && m->volume[i] / s->res_h[i] < dt)
            dt = m->volume[i] / s->res_h[i];
        s->res_h[i] = 0;
    }
    return CFL * dt;
}

/* Adds the flux through every face to the residuals of the two cells that it parts. */
static void edge_fluxes(const Mesh *m, State *s)
{
    for (int e = 0; e < m->n_edges; e++) {
        int a = m->ea[e], b = m->eb[e];
        double nx = m->nx[e], ny = m->ny[e];

        double inv_a = inverse_depth(s->h[a]), inv_b = inverse_depth(s->h[b]);
        double ua = s->hu[a] * inv_a, ub = s->hu[b] * inv_b;
        double va = s->hv[a] * inv_a, vb = s->hv[b] * inv_b;
        double ca = s->hc[a] * inv_a, cb = s->hc[b] * inv_b;

        /* depths over the higher of the two beds */
        double bed = larger(m->z[a], m->z[b]);
        double ha = larger(s->h[a] + m->z[a] - bed, 0), hb = larger(s->h[b] + m->z[b] - bed, 0);

        double length = face_length(nx, ny);
        double qa = ua * nx + va * ny, qb = ub * nx + vb * ny;
        double speed = larger(fabs(qa), fabs(qb)) + sqrt(GRAVITY * larger(ha, hb)) * length;
        double pressure = 0.25 * GRAVITY * (ha * ha + hb * hb);

        double ma = ha * (qa + speed), mb = hb * (qb - speed);
        double f_h = 0.5 * (ma + mb);
        double f_hu = 0.5 * (ma * ua + mb * ub) + pressure * nx;
        double f_hv = 0.5 * (ma * va + mb * vb) + pressure * ny;
        double f_hc = 0.5 * (ma * ca + mb * cb);

        /* what the step of the bed takes up on either side */
        double bed_a = 0.5 * GRAVITY * (s->h[a] * s->h[a] - ha * ha);
        double bed_b = 0.5 * GRAVITY * (s->h[b] * s->h[b] - hb * hb);

        s->res_h[a] -= f_h;
        s->res_h[b] += f_h;
        s->res_hu[a] -= f_hu + bed_a * nx;
        s->res_hu[b] += f_hu + bed_b * nx;
        s->res_hv[a] -= f_hv + bed_a * ny;
        s->res_hv[b] += f_hv + bed_b * ny;
        s->res_hc[a] -= f_hc;
        s->res_hc[b] += f_hc;
    }
}

/* Only pressure acts through the wall. */
static void wall_fluxes(const Mesh *m, State *s)
{
    for (int i = 0; i < m->n_wall; i++) {
        int v = m->wall[i];
        double pressure = 0.5 * GRAVITY * s->h[v] * s->h[v];
        s->res_hu[v] -= pressure * m->wall_nx[i];
        s->res_hv[v] -= pressure * m->wall_ny[i];
    }
}

static void update(const Mesh *m, State *s, double dt)
{
    for (int i = 0; i < m->n_vertices; i++) {
        double factor = dt / m->volume[i];
        s->h[i] += factor * s->res_h[i];
        s->hu[i] += factor * s->res_hu[i];
        s->hv[i] += factor * s->res_hv[i];
        s->hc[i] += factor * s->res_hc[i];
        s->res_h[i] = 0;
        s->res_hu[i] = 0;
        s->res_hv[i] = 0;
        s->res_hc[i] = 0;
    }
}

/* Root mean square of dh/dt over the domain. */
static double residual_norm(const Mesh *m, const State *s)
{
    double sum = 0, volume = 0;
    for (int i = 0; i < m->n_vertices; i++) {
        sum += s->res_h[i] * s->res_h[i] / m->volume[i];
        volume += m->volume[i];
    }
    return sqrt(sum / volume);
}

/* Energy is counted from the lake at rest, for water of density one. */
static void print_totals(const Mesh *m, const State *s, int step, double residual)
{
    double mass = 0, dye = 0, energy = 0;
    for (int i = 0; i < m->n_vertices; i++) {
        double h = s->h[i], inv = inverse_depth(h);
        double kinetic = 0.5 * (s->hu[i] * s->hu[i] + s->hv[i] * s->hv[i]) * inv;
        double raised = inv > 0 ? h + m->z[i] - STILL_LEVEL : 0;
        mass += m->volume[i] * h;
        dye += m->volume[i] * s->hc[i];
        energy += m->volume[i] * (kinetic + 0.5 * GRAVITY * raised * raised);
    }
    printf("step %4d  mass %.12e  dye %.12e  energy %.12e  residual %.12e\n", step, mass, dye, energy, residual);
}

/* Returns 0 if the solution has blown up. */
static int print_summary(const Mesh *m, const State *s)
{
    double lowest = HUGE_VAL, highest = 0, fastest = 0;
    int good = 1;
    for (int i = 0; i < m->n_vertices; i++) {
        double speed = hypot(s->hu[i], s->hv[i]) * inverse_depth(s->h[i]);
        lowest = s->h[i] < lowest ? s->h[i] : lowest;
        highest = larger(s->h[i], highest);
        fastest = larger(speed, fastest);
        good = good && isfinite(s->h[i]) && isfinite(speed) && isfinite(s->hc[i]);
    }
    printf("depth %.12e to %.12e, speed up to %.12e\n", lowest, highest, fastest);
    return good;
}

/* ------------------------------------------------------------------------------------------------ */

static void usage(FILE *out)
{
    fputs("usage: mesh_flux [--scale N] [--steps N] [--every N] [--scatter | --natural] [--seed N] [MESHFILE]\n"
          "\n"
          "  --scale N    refine the mesh N times, each triangle into four (default 4)\n"
          "  --steps N    number of time steps (default 16)\n"
          "  --every N    print totals every N steps (default 4)\n"
          "  --scatter    number vertices and edges at random (default)\n"
          "  --natural    number them along the mesh\n"
          "  --seed N     seed of the random numbering (default 1)\n"
          "  MESHFILE     OFF file of triangles (default samples/data/merimbula.off or data/merimbula.off)\n",
          out);
}

static void usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "mesh_flux: %s: %s\n", argument, what);
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
        fprintf(stderr, "mesh_flux: %s takes a whole number from %ld to %ld, not '%s'\n", option, low, high, text);
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
    Options o = {.path = NULL, .scale = 4, .steps = 16, .every = 4, .natural = 0, .seed = 1};
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
    Mesh m = make_mesh(&o);
    State s = initial_state(&m);
    double dt = time_step(&m, &s);
    printf("%d vertices, %d edges, %d on the wall, time step %.12e\n", m.n_vertices, m.n_edges, m.n_wall, dt);

    double start = seconds();
    for (int step = 1; step <= o.steps; step++) {
        edge_fluxes(&m, &s);
        wall_fluxes(&m, &s);
        int print = step % o.every == 0 || step == o.steps;
        double residual = print ? residual_norm(&m, &s) : 0;
        update(&m, &s, dt);
        if (print)
            print_totals(&m, &s, step, residual);
    }
    double end = seconds();
    int good = print_summary(&m, &s);
    fprintf(stderr, "set-up %.3f s, time steps %.3f s\n", start - begin, end - start);
    free_state(&s);
    free_mesh(&m);
    if (!good)
        fail(o.path, "the solution is no longer finite");
    return 0;
}
