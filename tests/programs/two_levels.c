/* Two levels of a mesh: edges smooth the fine one, groups of vertices are restricted to the coarse one and back.
   usage: two_levels side steps natural */
#include "mesh.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    Mesh m = make_mesh(side, natural);
    int n = m.vertices, *group = malloc((size_t)n * sizeof *group), groups = 0;
    for (int v = 0; v < n; v++)
        group[v] = -1;
    for (int e = 0; e < m.edges; e++)
        if (group[m.a[e]] < 0 && group[m.b[e]] < 0)
            group[m.a[e]] = group[m.b[e]] = groups++;
    for (int v = 0; v < n; v++)
        if (group[v] < 0)
            group[v] = groups++;
    int *from = malloc((size_t)m.edges * sizeof *from), *to = malloc((size_t)m.edges * sizeof *to), coarse = 0;
    for (int e = 0; e < m.edges; e++)
        if (group[m.a[e]] != group[m.b[e]]) {
            from[coarse] = group[m.a[e]];
            to[coarse++] = group[m.b[e]];
        }
    double *u = filled(n, 0.01), *r = filled(n, 0), *c = filled(groups, 0), *d = filled(groups, 0);
    for (int t = 0; t < steps; t++) {
        step(&m, u, r);
        for (int g = 0; g < groups; g++)
            c[g] = d[g] = 0;
        for (int v = 0; v < n; v++)
            c[group[v]] += r[v];
        for (int e = 0; e < coarse; e++) {
            double f = 0.1 * (c[to[e]] - c[from[e]]);
            d[from[e]] += f;
            d[to[e]] -= f;
        }
        for (int v = 0; v < n; v++)
            u[v] += 0.02 * d[group[v]];
    }
    tell("u", u, n);
    return 0;
}
