/* A mesh with buffers as programs hold them: one is allocated in the first step, one where it is first used and then
   when it is too small, and one lies in a structure while a step runs. The first step runs in the original order.
   usage: mesh_buffers side steps natural [step that asks for more] */
#include "mesh.h"

typedef struct {
    Mesh mesh;
    double *u, *flux, *heat;
    int room;
} State;

State *shown;

static double *scratch(int n)
{
    static double *kept;
    static int room;
    if (n > room) {
        free(kept);
        kept = malloc((size_t)n * sizeof *kept);
        room = n;
    }
    return kept;
}

static void release(double **p)
{
    if (*p != NULL) {
        free(*p);
        *p = NULL;
    }
}

static void spread(State *s)
{
    for (int i = 0; i < s->mesh.vertices; i++)
        s->flux[i] = 0;
    for (int e = 0; e < s->mesh.edges; e++)
        s->flux[s->mesh.b[e]] += s->mesh.weight[e] * s->u[s->mesh.a[e]];
    for (int i = 0; i < s->mesh.vertices; i++)
        s->heat[i] += 0.01 * s->flux[i];
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    int more = argc > 4 ? atoi(argv[4]) : -1;
    State *s = malloc(sizeof *s);
    double *before;
    shown = s;
    s->mesh = make_mesh(side, argc > 3 && atoi(argv[3]));
    s->u = filled(s->mesh.vertices, 0.01);
    s->heat = filled(s->mesh.vertices, 0);
    for (int t = 0; t < steps; t++) {
        if (t == 0)
            before = malloc((size_t)s->mesh.vertices * sizeof *before);
        double *r = scratch(t == more ? 2 * s->mesh.vertices : s->mesh.vertices);
        s->flux = malloc((size_t)s->mesh.vertices * sizeof(double));
        for (int i = 0; i < s->mesh.vertices; i++)
            before[i] = s->u[i];
        step(&s->mesh, s->u, r);
        spread(s);
        release(&s->flux);
        for (int i = 0; i < s->mesh.vertices; i++)
            s->heat[i] += 0.5 * (s->u[i] - before[i]);
    }
    tell("u", s->u, s->mesh.vertices);
    tell("heat", s->heat, s->mesh.vertices);
    return 0;
}
