/* Rows of nodes behind pointers of their own, as machine learning libraries keep them: an index of -1 ends a row.
   usage: nodes_ended side steps natural [every] (a row is cut shorter each so many steps) */
#include "rows.h"
typedef struct {
    int index; /* counted from 1 */
    double value;
} Node;
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *length = calloc((size_t)n, sizeof *length);
    for (int e = 0; e < m.edges; e++)
        length[m.a[e]]++, length[m.b[e]]++;
    Node **row = malloc((size_t)n * sizeof *row);
    for (int i = 0; i < n; i++)
        row[i] = malloc(((size_t)length[i] + 1) * sizeof **row);
    for (int i = 0; i < n; i++)
        length[i] = 0;
    for (int e = 0; e < m.edges; e++) {
        int u = m.a[e], v = m.b[e];
        row[u][length[u]++] = (Node){v + 1, 0.1 + weight_of(u, v)};
        row[v][length[v]++] = (Node){u + 1, 0.1 + weight_of(u, v)};
    }
    for (int i = 0; i < n; i++)
        row[i][length[i]] = (Node){-1, 0};
    double *x = filled(n, 0.01), *y = filled(n, 0);
    int every = argc > 4 ? atoi(argv[4]) : 0;
    for (int t = 0; t < steps; t++) {
        if (every && t % every == every - 1)
            row[(t * 7) % n][1].index = -1;
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (const Node *p = row[i]; p->index != -1; p++)
                sum += p->value * x[p->index - 1];
            y[i] = sum;
        }
        for (int i = 0; i < n; i++)
            x[i] = 0.5 * x[i] + 0.1 * y[i];
    }
    tell("x", x, n);
    return 0;
}
