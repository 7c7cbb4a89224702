/* Triangles add their matrices to rows: each place is searched in its row. usage: fem_assembly side steps natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int n = side * side, cells = 0;
    int *number = numbering(n, natural), *place = numbering(2 * (side - 1) * (side - 1), natural);
    int(*tri)[3] = malloc(2 * (size_t)n * sizeof *tri);
    for (int y = 0; y + 1 < side; y++)
        for (int x = 0; x + 1 < side; x++) {
            int p = number[y * side + x], q = number[y * side + x + 1], r = number[(y + 1) * side + x], s = number[(y + 1) * side + x + 1];
            int *one = tri[place[cells++]];
            one[0] = p, one[1] = q, one[2] = r;
            one = tri[place[cells++]];
            one[0] = q, one[1] = s, one[2] = r;
        }
    int *row = calloc((size_t)n + 1, sizeof *row), *length = calloc((size_t)n, sizeof *length);
    int *own = malloc(9 * (size_t)n * sizeof *own);
    for (int c = 0; c < cells; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                int u = tri[c][i], v = tri[c][j], k = 0;
                while (k < length[u] && own[9 * u + k] != v)
                    k++;
                if (k == length[u])
                    own[9 * u + length[u]++] = v;
            }
    for (int i = 0; i < n; i++)
        row[i + 1] = row[i] + length[i];
    int *col = malloc((size_t)row[n] * sizeof *col);
    double *a = malloc((size_t)row[n] * sizeof *a);
    for (int i = 0; i < n; i++)
        memcpy(col + row[i], own + 9 * i, (size_t)length[i] * sizeof *col);
    double *u = filled(n, 0.01), *v = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        for (int k = 0; k < row[n]; k++)
            a[k] = 0;
        for (int c = 0; c < cells; c++) {
            const int *at = tri[c];
            double size = 0.1 + 0.01 * (u[at[0]] + u[at[1]] + u[at[2]]);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    for (int k = row[at[i]]; k < row[at[i] + 1]; k++)
                        if (col[k] == at[j]) {
                            a[k] += i == j ? size : -0.5 * size;
                            break;
                        }
        }
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int k = row[i]; k < row[i + 1]; k++)
                sum += a[k] * u[col[k]];
            v[i] = sum;
        }
        for (int i = 0; i < n; i++)
            u[i] -= 0.2 * v[i];
    }
    tell("u", u, n);
    return 0;
}
