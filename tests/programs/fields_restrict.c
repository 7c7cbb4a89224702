/* A structure of arrays, whose pointers are promised to be apart, in a function of its own.
   usage: fields_restrict side steps natural */
#include "mesh.h"
typedef struct {
    double *restrict density, *restrict momentum, *restrict energy;
} Fields;
static __attribute__((noinline)) void flux(int edges, const int *restrict a, const int *restrict b,
                                           const double *restrict weight, Fields u, Fields r)
{
    for (int e = 0; e < edges; e++) {
        int p = a[e], q = b[e];
        double w = weight[e], v = w * (u.momentum[q] - u.momentum[p]);
        double d = w * (u.density[q] - u.density[p]) + 0.01 * v, g = w * (u.energy[q] - u.energy[p]) + 0.02 * v;
        r.density[p] += d;
        r.density[q] -= d;
        r.momentum[p] += v;
        r.momentum[q] -= v;
        r.energy[p] += g;
        r.energy[q] -= g;
    }
}
static void update(int n, double *restrict u, double *restrict r)
{
    for (int i = 0; i < n; i++) {
        u[i] += 0.05 * r[i];
        r[i] = 0;
    }
}
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices;
    Fields u = {filled(n, 0.01), filled(n, 0.02), filled(n, 0.03)}, r = {filled(n, 0), filled(n, 0), filled(n, 0)};
    for (int t = 0; t < steps; t++) {
        flux(m.edges, m.a, m.b, m.weight, u, r);
        update(n, u.density, r.density);
        update(n, u.momentum, r.momentum);
        update(n, u.energy, r.energy);
    }
    tell("density", u.density, n);
    tell("energy", u.energy, n);
    return 0;
}
