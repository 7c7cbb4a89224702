/* Diffusion whose coefficients depend on the state: those of each edge, in rows, are made anew in each step, and then
   used. usage: coefficients side steps natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    Mesh m = make_mesh(side, natural);
    int n = m.vertices, *row, *col = neighbours(&m, &row);
    double *a = filled(row[n], 0), *u = filled(n, 0.01), *next = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        for (int v = 0; v < n; v++)
            for (int k = row[v]; k < row[v + 1]; k++) {
                double slope = u[col[k]] - u[v];
                a[k] = 0.1 / (1 + slope * slope);
            }
        for (int v = 0; v < n; v++) {
            double flux = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                flux += a[k] * (u[col[k]] - u[v]);
            next[v] = flux / (row[v + 1] - row[v]);
        }
        for (int v = 0; v < n; v++)
            u[v] += next[v];
    }
    tell("u", u, n);
    tell("a", a, n);
    return 0;
}
