/* A mesh of side x side vertices with edges to the right, below and diagonal, numbered naturally or at random. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int vertices, edges;
    int *a, *b;
    double *weight;
} Mesh;

static uint64_t seed = 12345;

static uint32_t drawn(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

static int *numbering(int n, int natural)
{
    int *p = malloc((size_t)n * sizeof *p);
    for (int i = 0; i < n; i++)
        p[i] = i;
    for (int i = n - 1; i > 0 && !natural; i--) {
        int j = (int)(drawn() % (uint32_t)(i + 1)), t = p[i];
        p[i] = p[j];
        p[j] = t;
    }
    return p;
}

static Mesh make_mesh(int side, int natural)
{
    Mesh m = {side * side, 0, NULL, NULL, NULL};
    size_t most = 3 * (size_t)m.vertices;
    int *number = numbering(m.vertices, natural), *place;
    int *a = malloc(most * sizeof *a), *b = malloc(most * sizeof *b);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            for (int k = 0; k < 3; k++) {
                int u = x + (k != 1), v = y + (k != 0);
                if (u >= side || v >= side)
                    continue;
                a[m.edges] = number[y * side + x];
                b[m.edges++] = number[v * side + u];
            }
    place = numbering(m.edges, natural);
    m.a = malloc((size_t)m.edges * sizeof *m.a);
    m.b = malloc((size_t)m.edges * sizeof *m.b);
    m.weight = malloc((size_t)m.edges * sizeof *m.weight);
    for (int e = 0; e < m.edges; e++) {
        m.a[place[e]] = a[e];
        m.b[place[e]] = b[e];
    }
    for (int e = 0; e < m.edges; e++)
        m.weight[e] = 0.5 + 0.25 * ((m.a[e] ^ m.b[e]) & 1);
    free(number);
    free(place);
    free(a);
    free(b);
    return m;
}

static double *filled(int n, double scale)
{
    double *x = malloc((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++)
        x[i] = scale * (1 + i % 7);
    return x;
}

/* One step: fluxes over the edges, then the values at the vertices. */
static inline void step(const Mesh *m, double *u, double *r)
{
    for (int i = 0; i < m->vertices; i++)
        r[i] = 0;
    for (int e = 0; e < m->edges; e++) {
        int a = m->a[e], b = m->b[e];
        double f = m->weight[e] * (u[b] - u[a]);
        r[a] += f;
        r[b] -= f;
    }
    for (int i = 0; i < m->vertices; i++)
        u[i] += 0.05 * r[i];
}

/* The sum in the numbering of the program, and a few of the values. */
static void tell(const char *name, const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    printf("%s %.9e %.9e %.9e\n", name, sum, x[0], x[n / 2]);
}
