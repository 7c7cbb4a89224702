/* One array for all rows; a table of pointers says where each begins, and the next one where it ends.
   usage: rows_sliced side steps natural */
#include "rows.h"

typedef struct {
    int n;
    int **row;
} Graph;

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int *length = degrees(&m), *next = malloc(2 * (size_t)m.edges * sizeof *next);
    Graph *g = malloc(sizeof *g);
    g->n = m.vertices;
    g->row = malloc(((size_t)g->n + 1) * sizeof *g->row);
    g->row[0] = next;
    for (int i = 0; i < g->n; i++)
        g->row[i + 1] = g->row[i] + length[i];
    int **end = malloc((size_t)g->n * sizeof *end);
    memcpy(end, g->row, (size_t)g->n * sizeof *end);
    for (int e = 0; e < m.edges; e++) {
        *end[m.a[e]]++ = m.b[e];
        *end[m.b[e]]++ = m.a[e];
    }
    double *rank = filled(g->n, 0.01), *fresh = filled(g->n, 0), *share = filled(g->n, 0);
    for (int t = 0; t < steps; t++) {
        double change = 0;
        for (int i = 0; i < g->n; i++) /* another loop asks how long the rows are */
            share[i] = rank[i] / (double)(g->row[i + 1] - g->row[i]);
        for (int i = 0; i < g->n; i++) {
            double sum = 0;
            for (const int *at = g->row[i]; at != g->row[i + 1]; at++)
                sum += share[*at];
            fresh[i] = 0.15 + 0.85 * sum;
        }
        for (int i = 0; i < g->n; i++) {
            change += fabs(fresh[i] - rank[i]);
            rank[i] = fresh[i];
        }
        if (t == steps - 1)
            printf("%.9e\n", change);
    }
    tell("rank", rank, g->n);
    return 0;
}
