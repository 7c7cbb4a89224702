/* Points with coordinates behind a pointer, and what each point belongs to: all of them over pairs that lie near.
   usage: points_structs side steps natural */
#include "rows.h"
enum { DIM = 6 };

typedef struct {
    float weight;
    float *coord;
    int assign;
    double cost;
} Point;

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    Mesh m = make_mesh(side, natural);
    int n = m.vertices, *when = numbering(n, natural), shared = argc > 4;
    Point *p = calloc((size_t)n, sizeof *p);
    double *cost = malloc((size_t)n * sizeof *cost);
    for (int i = 0; i < n; i++)
        p[when[i]].coord = malloc(DIM * sizeof *p->coord);
    if (shared)
        p[n / 2].coord = p[n / 3].coord;
    for (int i = 0; i < n; i++) {
        p[i].weight = 1 + i % 3;
        for (int d = 0; d < DIM; d++)
            p[i].coord[d] = 0.1f * (float)((i * 7 + d) % 11);
    }
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < m.edges; e++) {
            const Point *a = &p[m.a[e]], *b = &p[m.b[e]];
            float far = 0;
            for (int d = 0; d < DIM; d++)
                far += (a->coord[d] - b->coord[d]) * (a->coord[d] - b->coord[d]);
            p[m.a[e]].cost += far * b->weight;
            p[m.b[e]].cost += far * a->weight;
        }
        for (int i = 0; i < n; i++) {
            p[i].assign += p[i].cost > 1;
            for (int d = 0; d < DIM; d++)
                p[i].coord[d] += 0.01f * (float)(p[i].assign % 3);
            p[i].cost *= 0.5;
        }
    }
    for (int i = 0; i < n; i++)
        cost[i] = p[i].cost;
    tell("cost", cost, n);
    return 0;
}
