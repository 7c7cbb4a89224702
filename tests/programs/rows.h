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
