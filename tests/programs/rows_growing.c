/* Rows that are allocated anew, and changed, in some of the steps.
   usage: rows_growing side steps natural every */
#include "rows.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int every = argc > 4 ? atoi(argv[4]) : 8, n = m.vertices;
    int *length = degrees(&m), *done = calloc((size_t)n, sizeof *done), **near = malloc((size_t)n * sizeof *near);
    for (int i = 0; i < n; i++)
        near[i] = malloc((size_t)length[i] * sizeof **near);
    for (int e = 0; e < m.edges; e++) {
        near[m.a[e]][done[m.a[e]]++] = m.b[e];
        near[m.b[e]][done[m.b[e]]++] = m.a[e];
    }
    double *u = filled(n, 0.01), *w = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        if (t % every == every - 1) {
            int i = t * 7 % n, *longer = malloc(((size_t)length[i] + 1) * sizeof *longer);
            memcpy(longer, near[i], (size_t)length[i] * sizeof *longer);
            longer[length[i]++] = t % n;
            free(near[i]);
            near[i] = longer;
        }
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < length[i]; j++)
                sum += u[near[i][j]];
            w[i] = sum;
        }
        for (int i = 0; i < n; i++)
            u[i] = 0.5 * u[i] + 0.1 * w[i];
    }
    tell("u", u, n);
    return 0;
}
