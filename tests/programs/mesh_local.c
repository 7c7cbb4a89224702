/* A mesh with an array of variable length that is filled in every step.
   usage: mesh_local side steps natural */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    int few = argc > 4 ? atoi(argv[4]) : 5;
    double last = 0;
    for (int t = 0; t < steps; t++) {
        step(&m, u, r);
        double window[few];
        for (int k = 0; k < few; k++)
            window[k] = t + k;
        last += window[t % few];
    }
    printf("%.9e\n", last);
    tell("u", u, m.vertices);
    return 0;
}
