/* Edges sorted by colour, so that no two of one colour share a vertex: a loop over colours around one over edges.
   usage: mesh_colours side steps natural */
#include "mesh.h"
enum { MOST = 64 };
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, colours = 0, *of = malloc((size_t)m.edges * sizeof *of), begin[MOST + 1] = {0};
    uint64_t *used = calloc((size_t)n, sizeof *used);
    for (int e = 0; e < m.edges; e++) {
        int c = __builtin_ctzll(~(used[m.a[e]] | used[m.b[e]]));
        of[e] = c;
        used[m.a[e]] |= 1ull << c;
        used[m.b[e]] |= 1ull << c;
        begin[c + 1]++;
        if (c + 1 > colours)
            colours = c + 1;
    }
    for (int c = 0; c < colours; c++)
        begin[c + 1] += begin[c];
    int *a = malloc((size_t)m.edges * sizeof *a), *b = malloc((size_t)m.edges * sizeof *b), at[MOST];
    double *w = malloc((size_t)m.edges * sizeof *w);
    memcpy(at, begin, sizeof at);
    for (int e = 0; e < m.edges; e++) {
        int p = at[of[e]]++;
        a[p] = m.a[e];
        b[p] = m.b[e];
        w[p] = m.weight[e];
    }
    double *u = filled(n, 0.01), *r = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            r[i] = 0;
        for (int c = 0; c < colours; c++)
            for (int e = begin[c]; e < begin[c + 1]; e++) {
                double f = w[e] * (u[b[e]] - u[a[e]]);
                r[a[e]] += f;
                r[b[e]] -= f;
            }
        for (int i = 0; i < n; i++)
            u[i] += 0.05 * r[i];
    }
    tell("u", u, n);
    return 0;
}
