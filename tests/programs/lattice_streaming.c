/* Lattice Boltzmann on the fluid nodes of a list: five directions, each with the node that its value comes from.
   usage: lattice_streaming side steps natural */
#include "mesh.h"
enum { WAYS = 5 };
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, n = side * side;
    int *name = numbering(n, argc > 3 && atoi(argv[3]));
    const int dx[WAYS] = {0, 1, -1, 0, 0}, dy[WAYS] = {0, 0, 0, 1, -1};
    const float share[WAYS] = {1 / 3.f, 1 / 6.f, 1 / 6.f, 1 / 6.f, 1 / 6.f};
    uint32_t *from = malloc((size_t)n * WAYS * sizeof *from);
    float *f = malloc((size_t)n * WAYS * sizeof *f), *g = malloc((size_t)n * WAYS * sizeof *g);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            for (int q = 0; q < WAYS; q++) {
                int u = (x - dx[q] + side) % side, v = (y - dy[q] + side) % side, i = name[y * side + x];
                from[i * WAYS + q] = (uint32_t)name[v * side + u];
                f[i * WAYS + q] = share[q] * (1 + 0.1f * (x % 7));
            }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            float in[WAYS], rho = 0;
            for (int q = 0; q < WAYS; q++) {
                in[q] = f[from[i * WAYS + q] * WAYS + q];
                rho += in[q];
            }
            for (int q = 0; q < WAYS; q++)
                g[i * WAYS + q] = in[q] - 0.8f * (in[q] - share[q] * rho);
        }
        float *s = f;
        f = g;
        g = s;
    }
    double sum = 0;
    for (int k = 0; k < n * WAYS; k++)
        sum += f[k] * (1 + k % 3);
    printf("%.6e\n", sum);
    return 0;
}
