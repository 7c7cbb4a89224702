/* Fluxes that are told one by one in the first step, if that is asked for. usage: fluxes_told side steps natural [told] */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, told = argc > 4;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++)
            r[i] = 0;
        for (int e = 0; e < m.edges; e++) {
            double flux = m.weight[e] * (u[m.a[e]] - u[m.b[e]]);
            if (t == 0 && told)
                printf("%d: %.6g\n", e, flux);
            r[m.a[e]] -= flux;
            r[m.b[e]] += flux;
        }
        for (int i = 0; i < m.vertices; i++)
            u[i] += 0.05 * r[i];
    }
    tell("u", u, m.vertices);
    return 0;
}
