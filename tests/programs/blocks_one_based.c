/* A matrix of 2 x 2 blocks whose columns are counted from one, as older codes store them.
   usage: blocks_one_based side steps natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *length = degrees(&m), *ia = calloc((size_t)n + 1, sizeof *ia), *at = calloc((size_t)n, sizeof *at);
    ia[0] = 1;
    for (int v = 0; v < n; v++)
        ia[v + 1] = ia[v] + length[v];
    int *ja = malloc((size_t)ia[n] * sizeof *ja);
    double *a = malloc(4 * (size_t)ia[n] * sizeof *a), *x = filled(2 * n, 0.01), *y = filled(2 * n, 0);
    for (int e = 0; e < m.edges; e++) {
        ja[ia[m.a[e]] - 1 + at[m.a[e]]++] = m.b[e] + 1;
        ja[ia[m.b[e]] - 1 + at[m.b[e]]++] = m.a[e] + 1;
    }
    for (int v = 0; v < n; v++)
        for (int k = ia[v] - 1; k < ia[v + 1] - 1; k++)
            for (int c = 0; c < 4; c++)
                a[4 * k + c] = 0.05 * (c % 3) + weight_of(v, ja[k]);
    for (int t = 0; t < steps; t++) {
        for (int v = 0; v < n; v++) {
            double s0 = 0, s1 = 0;
            for (int k = ia[v]; k <= ia[v + 1] - 1; k++) {
                const double *b = a + 4 * (k - 1), *z = x + 2 * (ja[k - 1] - 1);
                s0 += b[0] * z[0] + b[1] * z[1];
                s1 += b[2] * z[0] + b[3] * z[1];
            }
            y[2 * v] = s0;
            y[2 * v + 1] = s1;
        }
        for (int i = 0; i < 2 * n; i++)
            x[i] = 0.5 * x[i] + 0.25 * y[i];
    }
    tell("x", x, 2 * n);
    return 0;
}
