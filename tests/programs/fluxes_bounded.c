/* Fluxes that have to stay within a bound: a step that finds another one is given up, and what is no number ends the
   program. usage: fluxes_bounded side steps natural [bound] */
#include "mesh.h"
#include <assert.h>

/* The first edge whose flux is out of bounds, or how many there are. */
static int swept(const Mesh *m, const double *u, double *r, double bound)
{
    for (int e = 0; e < m->edges; e++) {
        double flux = m->weight[e] * (u[m->a[e]] - u[m->b[e]]);
        if (!(fabs(flux) <= bound))
            return e;
        r[m->a[e]] -= flux;
        r[m->b[e]] += flux;
    }
    return m->edges;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, given_up = 0;
    double bound = argc > 4 ? atof(argv[4]) : 10;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++)
            r[i] = 0;
        if (swept(&m, u, r, bound) < m.edges) {
            given_up++;
            bound *= 1.25;
            continue;
        }
        for (int i = 0; i < m.vertices; i++) {
            u[i] += 0.05 * r[i];
            assert(u[i] == u[i]);
        }
    }
    printf("given up %d\n", given_up);
    tell("u", u, m.vertices);
    return 0;
}
