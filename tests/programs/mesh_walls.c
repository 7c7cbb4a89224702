/* A mesh with pieces of wall, for each of which a step allocates scratch space of its size: it is walked, and stays.
   usage: mesh_walls side steps natural [step at which a wall gets shorter] */
#include "mesh.h"
typedef struct { Mesh mesh; double *u; int parts; int *size, **list; } State;
State *shown;
static void walls(State *s)
{
    for (int p = 0; p < s->parts; p++) {
        int n = s->size[p], *list = s->list[p];
        double *old = malloc(n * sizeof *old), *now = malloc(n * sizeof *now);
        for (int i = 0; i < n; i++)
            old[i] = s->u[list[i]];
        for (int i = 0; i < n; i++)
            now[i] = 0.5 * old[i] + 0.25 * sqrt(1 + old[i] * old[i]);
        for (int i = 0; i < n; i++)
            s->u[list[i]] = now[i];
        free(old);
        free(now);
    }
}
static void advance(State *s)
{
    double *r = malloc(s->mesh.vertices * sizeof *r);
    step(&s->mesh, s->u, r);
    free(r);
    walls(s);
}
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    int more = argc > 4 ? atoi(argv[4]) : -1;
    State *s = malloc(sizeof *s);
    shown = s;
    s->mesh = make_mesh(side, argc > 3 && atoi(argv[3]));
    s->u = filled(s->mesh.vertices, 0.01);
    s->parts = 3;
    s->size = malloc(3 * sizeof *s->size);
    s->list = malloc(3 * sizeof *s->list);
    for (int p = 0; p < 3; p++) {
        s->size[p] = (p + 1) * side;
        s->list[p] = malloc(s->size[p] * sizeof(int));
        for (int i = 0; i < s->size[p]; i++)
            s->list[p][i] = drawn() % s->mesh.vertices;
    }
    for (int t = 0; t < steps; t++) {
        if (t == more)
            s->size[1]--;
        advance(s);
    }
    tell("u", s->u, s->mesh.vertices);
    return 0;
}
