/* Records with a row of their own, its length, and a name that nobody looks behind.
   usage: rows_counted side steps natural */
#include "rows.h"

typedef struct {
    int count;
    int *to;
    const char *name;
    double scale;
} Row;

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int *length = degrees(&m), named = 0;
    Row *row = calloc((size_t)m.vertices, sizeof *row);
    for (int i = 0; i < m.vertices; i++) {
        row[i].to = malloc(((size_t)length[i] + 1) * sizeof *row[i].to);
        row[i].name = i % 3 ? "inside" : NULL;
        row[i].scale = 1.0 / (1 + length[i]);
    }
    for (int e = 0; e < m.edges; e++) {
        row[m.a[e]].to[row[m.a[e]].count++] = m.b[e];
        row[m.b[e]].to[row[m.b[e]].count++] = m.a[e];
    }
    double *u = filled(m.vertices, 0.01), *w = filled(m.vertices, 0);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++) {
            double sum = 0;
            for (int k = 0; k < row[i].count; k++)
                sum += u[row[i].to[k]];
            w[i] = row[i].name ? row[i].scale * sum : 0.5 * row[i].scale * sum;
            named += row[i].name != NULL;
        }
        for (int i = 0; i < m.vertices; i++)
            u[i] = 0.4 * u[i] + 0.5 * w[i] + 1e-3 * row[i].count;
    }
    printf("%d\n", named);
    tell("u", u, m.vertices);
    return 0;
}
