/* Rows of a mesh by OpenMP: gathers, and the change as a reduction. usage: mesh_openmp side steps natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *row, *col = neighbours(&m, &row);
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
