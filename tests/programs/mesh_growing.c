/* A mesh with a buffer of its own that grows when it is full, which it never is.
   usage: mesh_growing side steps natural */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    int held = 0, room = argc > 4 ? atoi(argv[4]) : 1000;
    double *history = malloc((size_t)room * sizeof *history);
    for (int t = 0; t < steps; t++) {
        step(&m, u, r);
        if (held == room) {
            room *= 2;
            history = realloc(history, (size_t)room * sizeof *history);
            if (history == NULL)
                abort();
        }
        history[held++] = u[0];
    }
    tell("history", history, held);
    tell("u", u, m.vertices);
    return 0;
}
