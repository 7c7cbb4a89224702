/* A matrix in rows of one width (ELLPACK): a column of -1 ends a row, and behind it anything may lie.
   usage: rows_ended side steps natural */
#include "rows.h"
enum { WIDTH = 8 };
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *length = calloc((size_t)n, sizeof *length);
    int *col = malloc((size_t)n * WIDTH * sizeof *col);
    double *a = calloc((size_t)n * WIDTH, sizeof *a);
    for (int e = 0; e < m.edges; e++) {
        int u = m.a[e], v = m.b[e], p = length[u]++, q = length[v]++;
        col[u * WIDTH + p] = v;
        a[u * WIDTH + p] = 0.1 + weight_of(u, v);
        col[v * WIDTH + q] = u;
        a[v * WIDTH + q] = 0.1 + weight_of(u, v);
    }
    for (int i = 0; i < n; i++)
        for (int k = length[i]; k < WIDTH; k++)
            col[i * WIDTH + k] = k == length[i] ? -1 : 1 << 30;
    double *x = filled(n, 0.01), *y = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < WIDTH; j++) {
                int c = col[i * WIDTH + j];
                if (c < 0)
                    break;
                sum += a[i * WIDTH + j] * x[c];
            }
            y[i] = sum;
        }
        for (int i = 0; i < n; i++)
            x[i] = 0.5 * x[i] + 0.5 * y[i];
    }
    tell("x", x, n);
    return 0;
}
