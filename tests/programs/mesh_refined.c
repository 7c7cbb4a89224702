/* A mesh whose values are allocated anew when they become too large, which they seldom do.
   usage: mesh_refined side steps natural */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    double limit = argc > 4 ? atof(argv[4]) : 1e9;
    for (int t = 0; t < steps; t++) {
        step(&m, u, r);
        if (u[0] > limit) {
            u = realloc(u, (size_t)m.vertices * 2 * sizeof *u);
            if (u == NULL)
                abort();
            limit *= 2;
        }
    }
    tell("u", u, m.vertices);
    return 0;
}
