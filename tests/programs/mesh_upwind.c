/* Fluxes that take the value of one end or the other, by the sign of a velocity: upwind differences over records.
   usage: mesh_upwind side steps natural */
#include "mesh.h"

typedef struct {
    int from, to;
    double velocity;
} Face;

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    Face *face = malloc((size_t)m.edges * sizeof *face);
    for (int e = 0; e < m.edges; e++)
        face[e] = (Face){m.a[e], m.b[e], m.weight[e] - 0.6};
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++)
            r[i] = 0;
        for (int e = 0; e < m.edges; e++) {
            const Face *f = &face[e];
            double up = f->velocity > 0 ? u[f->from] : u[f->to];
            double flux = f->velocity * up + 0.05 * (u[f->from] - u[f->to]);
            r[f->from] -= flux;
            r[f->to] += flux;
        }
        for (int i = 0; i < m.vertices; i++)
            u[i] += 0.05 * r[i];
    }
    tell("u", u, m.vertices);
    return 0;
}
