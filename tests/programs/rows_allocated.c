/* Rows that are allocated one by one, in two tables; how long they are stands in an array.
   usage: rows_allocated side steps natural */
#include "rows.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *length = degrees(&m), *filled_to = calloc((size_t)n, sizeof *filled_to);
    int **column = malloc((size_t)n * sizeof *column);
    double **value = malloc((size_t)n * sizeof *value);
    for (int i = 0; i < n; i++) {
        column[i] = malloc((size_t)(length[i] + i % 3) * sizeof **column);
        value[i] = malloc((size_t)length[i] * sizeof **value);
    }
    for (int e = 0; e < m.edges; e++) {
        int ends[2] = {m.a[e], m.b[e]};
        for (int k = 0; k < 2; k++) {
            int i = ends[k], at = filled_to[i]++;
            column[i][at] = ends[1 - k];
            value[i][at] = weight_of(ends[0], ends[1]);
        }
    }
    double *x = filled(n, 0.01), *y = filled(n, 0), norm = 0;
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            const int *c = column[i], count = length[i];
            const double *v = value[i];
            double sum = 0;
            for (int j = 0; j < count; j++)
                sum += v[j] * x[c[j]];
            y[i] = sum;
        }
        for (int i = 0; i < n; i++)
            x[i] = 0.9 * x[i] + 0.1 * y[i];
    }
    for (int i = 0; i < n; i++)
        norm += x[i] * x[i];
    printf("%.9e\n", norm);
    tell("x", x, n);
    return 0;
}
