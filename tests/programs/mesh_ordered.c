/* Steps of a mesh, and between them what needs the numbers of the vertices: the first of the largest values, a list of
   those above a limit, noise that is drawn vertex by vertex, a running sum, some that are looked at.
   usage: mesh_ordered side steps natural */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, where = 0, count = 0, *above = malloc((size_t)n * sizeof *above);
    double *u = filled(n, 0.01), *r = filled(n, 0), seen = 0, most = 0;
    uint64_t seed = 1;
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < m.edges; e++) {
            double f = m.weight[e] * (u[m.b[e]] - u[m.a[e]]);
            r[m.a[e]] += f;
            r[m.b[e]] -= f;
        }
        most = -1;
        for (int i = 0; i < n; i++)
            if (r[i] > most) {
                most = r[i];
                where = i;
            }
        count = 0;
        for (int i = 0; i < n; i++)
            if (u[i] > 0.04)
                above[count++] = i;
        for (int k = 0; k < count; k++)
            u[above[k]] -= 0.001 * (k & 7);
        for (int i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            u[i] += 0.05 * r[i] + 1e-5 * (double)(seed >> 40) / (1 << 24);
        }
        for (int i = 0; i < n; i += 97)
            seen = 0.9 * seen + u[i];
        for (int i = 0; i < n; i++)
            r[i] = 0;
    }
    tell("u", u, n);
    printf("%d %d %.9g %.9g\n", where, count, most, seen);
    return 0;
}
