/* Cells of a lattice as rows of populations: each takes from its neighbours, then they collide.
   usage: lattice_rows side steps natural shared */
#include "rows.h"
enum { WAYS = 5 };

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int n = side * side, *name = numbering(n, natural), *when = numbering(n, natural);
    int *from = malloc((size_t)n * WAYS * sizeof *from);
    double **f = malloc((size_t)n * sizeof *f), **g = malloc((size_t)n * sizeof *g), *mass = filled(n, 0);
    for (int i = 0; i < n; i++) {
        f[when[i]] = malloc(WAYS * sizeof **f);
        g[when[i]] = malloc(WAYS * sizeof **g);
    }
    if (argc > 4)
        g[n / 2] = f[n / 3];
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            for (int k = 0; k < WAYS; k++) {
                int u = (x + (k == 1) - (k == 2) + side) % side, v = (y + (k == 3) - (k == 4) + side) % side;
                from[name[y * side + x] * WAYS + k] = name[v * side + u];
            }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < WAYS; k++)
            f[i][k] = 0.1 * (i % 7 + k);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < WAYS; k++)
                g[i][k] = f[from[i * WAYS + k]][k];
        for (int i = 0; i < n; i++) {
            double rho = 0;
            for (int k = 0; k < WAYS; k++)
                rho += g[i][k];
            for (int k = 0; k < WAYS; k++)
                f[i][k] = g[i][k] + 0.6 * (0.2 * rho - g[i][k]);
        }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < WAYS; k++)
            mass[i] += f[i][k];
    tell("mass", mass, n);
    return 0;
}
