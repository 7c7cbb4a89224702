/* States as rows that are allocated one by one, read and written over edges and vertices; with a word, two rows are one.
   usage: rows_written side steps natural shared */
#include "rows.h"
enum { FIELDS = 5 };

static double **allocated(int n, int natural)
{
    double **row = malloc((size_t)n * sizeof *row);
    int *when = numbering(n, natural);
    for (int i = 0; i < n; i++)
        row[when[i]] = calloc(FIELDS, sizeof **row);
    free(when);
    return row;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    Mesh m = make_mesh(side, natural);
    int n = m.vertices;
    double **u = allocated(n, natural), **r = allocated(n, natural), sum[FIELDS] = {0};
    if (argc > 4)
        u[n / 2] = u[n / 3];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < FIELDS; k++)
            u[i][k] = 0.01 * (i % 7 + k);
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < m.edges; e++) {
            const double *x = u[m.a[e]], *y = u[m.b[e]];
            double *out = r[m.a[e]], *in = r[m.b[e]];
            for (int k = 0; k < FIELDS; k++) {
                double flux = m.weight[e] * (x[k] - y[(k + 1) % FIELDS]);
                out[k] -= flux;
                in[k] += flux;
            }
        }
        for (int i = 0; i < n; i++)
            for (int k = 0; k < FIELDS; k++) {
                u[i][k] = 0.9 * u[i][k] + 0.05 * r[i][k];
                r[i][k] = 0;
            }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < FIELDS; k++)
            sum[k] += u[i][k];
    tell("u", sum, FIELDS);
    exit(EXIT_SUCCESS); /* so main never returns */
}
