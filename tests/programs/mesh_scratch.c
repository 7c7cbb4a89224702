/* A mesh with scratch space that is allocated when it is first used, and again when more is asked for: the first step
   runs in the original order.
   usage: mesh_scratch side steps natural [step that asks for more] */
#include "mesh.h"

typedef struct {
    double *values;
    int room;
} Scratch;

Scratch kept;

static void reserve(Scratch *s, int n)
{
    if (n > s->room) {
        free(s->values);
        s->values = malloc((size_t)n * sizeof *s->values);
        s->room = n;
    }
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01);
    int more = argc > 4 ? atoi(argv[4]) : -1;
    for (int t = 0; t < steps; t++) {
        reserve(&kept, t == more ? 4 * m.vertices : m.vertices);
        step(&m, u, kept.values);
    }
    tell("u", u, m.vertices);
    free(kept.values);
    return 0;
}
