/* Two unknowns on a mesh: time steps of Runge-Kutta stages, with loops over vertices between those over edges.
   usage: mesh_stages side steps natural */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 6;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *v = filled(m.vertices, 0.02);
    double *u0 = filled(m.vertices, 0), *v0 = filled(m.vertices, 0);
    double *ru = filled(m.vertices, 0), *rv = filled(m.vertices, 0);
    double norm = 0;
    static const double factor[3] = {1.0 / 3, 1.0 / 2, 1.0};
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++) {
            u0[i] = u[i];
            v0[i] = v[i];
        }
        for (int s = 0; s < 3; s++) {
            for (int i = 0; i < m.vertices; i++)
                ru[i] = rv[i] = 0;
            for (int e = 0; e < m.edges; e++) {
                int a = m.a[e], b = m.b[e];
                double fu = m.weight[e] * (u[b] - u[a]), fv = m.weight[e] * (v[b] - v[a]);
                ru[a] += fu;
                ru[b] -= fu;
                rv[a] += fv;
                rv[b] -= fv;
            }
            for (int i = 0; i < m.vertices; i++) {
                u[i] = u0[i] + 0.1 * factor[s] * ru[i];
                v[i] = v0[i] + 0.1 * factor[s] * (rv[i] + 0.01 * u0[i]);
            }
        }
        norm = 0;
        for (int i = 0; i < m.vertices; i++)
            norm += ru[i] * ru[i];
    }
    printf("%.9e\n", sqrt(norm));
    tell("u", u, m.vertices);
    tell("v", v, m.vertices);
    return 0;
}
