/* Features of vertices in rows of their own: each vertex's come closer to those of its neighbours.
   usage: features_pointed side steps natural features */
#include "rows.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int features = argc > 4 ? atoi(argv[4]) : 5;
    Mesh m = make_mesh(side, natural);
    int n = m.vertices, *when = numbering(n, natural), *start, *near = neighbours(&m, &start);
    double **x = malloc((size_t)n * sizeof *x), **y = malloc((size_t)n * sizeof *y), *far = filled(n, 0);
    for (int i = 0; i < n; i++) {
        x[when[i]] = malloc((size_t)features * sizeof **x);
        y[when[i]] = malloc((size_t)features * sizeof **y);
        for (int k = 0; k < features; k++)
            x[when[i]][k] = 0.01 * ((when[i] * 7 + k) % 13);
    }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            double moved = 0;
            for (int k = 0; k < features; k++)
                y[i][k] = x[i][k];
            for (int j = start[i]; j < start[i + 1]; j++)
                for (int k = 0; k < features; k++) {
                    double way = x[near[j]][k] - x[i][k];
                    y[i][k] += 0.1 * way;
                    moved += way * way;
                }
            far[i] += moved;
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < features; k++)
                x[i][k] = y[i][k];
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < features; k++)
            far[i] += x[i][k];
    tell("far", far, n);
    return 0;
}
