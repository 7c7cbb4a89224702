/* Rows of a mesh by OpenMP: gathers, and the change as a reduction. usage: mesh_openmp side steps natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *length = degrees(&m), *row = calloc((size_t)n + 1, sizeof *row);
    for (int v = 0; v < n; v++)
        row[v + 1] = row[v] + length[v];
    int *col = malloc((size_t)row[n] * sizeof *col), *at = calloc((size_t)n, sizeof *at);
    for (int e = 0; e < m.edges; e++) {
        col[row[m.a[e]] + at[m.a[e]]++] = m.b[e];
        col[row[m.b[e]] + at[m.b[e]]++] = m.a[e];
    }
    double *x = filled(n, 0.01), *y = filled(n, 0), change = 0;
    for (int t = 0; t < steps; t++) {
        change = 0;
#pragma omp parallel for schedule(static) reduction(+ : change)
        for (int v = 0; v < n; v++) {
            double sum = 0;
            for (int e = row[v]; e < row[v + 1]; e++)
                sum += x[col[e]];
            y[v] = sum / (row[v + 1] - row[v]);
            change += fabs(y[v] - x[v]);
        }
#pragma omp parallel for
        for (int v = 0; v < n; v++)
            x[v] = 0.5 * x[v] + 0.5 * y[v];
    }
    printf("%.9e ", change);
    tell("x", x, n);
    return 0;
}
