/* A mesh that a structure holds: each step allocates scratch space of the size that is read from there, and frees it
   again. The first step runs in the original order, and so does one that asks for more.
   usage: mesh_allocating side steps natural [step that asks for more] */
#include "mesh.h"

typedef struct {
    Mesh mesh;
    double *u, *heat;
    int room;
} State;

State *shown;

static double *allocate(size_t n)
{
    return malloc(n * sizeof(double));
}

static void release(double **p)
{
    if (*p != NULL) {
        free(*p);
        *p = NULL;
    }
}

static void advance(State *s)
{
    double *r = allocate(s->room), *square = calloc(3 * s->room, sizeof *square);
    if (r == NULL || square == NULL)
        exit(1);
    step(&s->mesh, s->u, r);
    for (int e = 0; e < s->mesh.edges; e++)
        square[e] += s->mesh.weight[e] * s->u[s->mesh.a[e]] * s->u[s->mesh.b[e]];
    for (int e = 0; e < s->mesh.edges; e++)
        s->heat[s->mesh.a[e]] += square[e];
    release(&r);
    free(square);
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    int more = argc > 4 ? atoi(argv[4]) : -1;
    State *s = malloc(sizeof *s);
    shown = s;
    s->mesh = make_mesh(side, argc > 3 && atoi(argv[3]));
    s->u = filled(s->mesh.vertices, 0.01);
    s->heat = filled(s->mesh.vertices, 0);
    for (int t = 0; t < steps; t++) {
        s->room = t == more ? 2 * s->mesh.vertices : s->mesh.vertices;
        advance(s);
    }
    tell("u", s->u, s->mesh.vertices);
    tell("heat", s->heat, s->mesh.vertices);
    return 0;
}
