/* A sparse matrix whose rows are reached through pointers: the neighbours of each vertex of a mesh, and a weight. */
#include "mesh.h"

static int *degrees(const Mesh *m)
{
    int *found = calloc((size_t)m->vertices, sizeof *found);
    for (int e = 0; e < m->edges; e++) {
        found[m->a[e]]++;
        found[m->b[e]]++;
    }
    return found;
}

static double weight_of(int a, int b)
{
    return 0.01 * ((a ^ b) % 7);
}

/* The neighbours of all vertices one behind the other; `row` gets where those of each begin, and the end. */
static int *neighbours(const Mesh *m, int **row)
{
    int n = m->vertices, *length = degrees(m), *start = calloc((size_t)n + 1, sizeof *start);
    for (int v = 0; v < n; v++)
        start[v + 1] = start[v] + length[v];
    int *found = malloc((size_t)start[n] * sizeof *found), *at = calloc((size_t)n, sizeof *at);
    for (int e = 0; e < m->edges; e++) {
        found[start[m->a[e]] + at[m->a[e]]++] = m->b[e];
        found[start[m->b[e]] + at[m->b[e]]++] = m->a[e];
    }
    *row = start;
    return found;
}
