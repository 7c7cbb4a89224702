/* Objects that are allocated one by one, reached by a table of pointers to them; one of them is printed now and then.
   usage: objects_pointed side steps natural every (1: two of the pointers lead to one object) */
#include "rows.h"

typedef struct {
    double value, flow, scale;
    int degree, seen;
} Cell;

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    Mesh m = make_mesh(side, natural);
    int n = m.vertices, *when = numbering(n, natural), *degree = degrees(&m), every = argc > 4 ? atoi(argv[4]) : 9;
    Cell **cell = malloc((size_t)n * sizeof *cell);
    double *value = malloc((size_t)n * sizeof *value);
    for (int i = 0; i < n; i++)
        cell[when[i]] = calloc(1, sizeof **cell);
    if (every == 1)
        cell[n / 2] = cell[n / 3];
    for (int i = 0; i < n; i++) {
        cell[i]->value = 0.01 * (i % 7);
        cell[i]->degree = degree[i];
        cell[i]->scale = 1.0 / (1 + degree[i]);
    }
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < m.edges; e++) {
            Cell *a = cell[m.a[e]], *b = cell[m.b[e]];
            double flow = m.weight[e] * (a->value - b->value);
            a->flow -= flow * a->scale;
            b->flow += flow * b->scale;
        }
        for (int i = 0; i < n; i++) {
            cell[i]->value += 0.5 * cell[i]->flow + 1e-3 * cell[i]->degree;
            cell[i]->flow = 0;
            cell[i]->seen++;
        }
        if (t % every == every - 1 && every > 1)
            printf("%.9e\n", cell[t % n]->value);
    }
    for (int i = 0; i < n; i++)
        value[i] = cell[i]->value;
    tell("value", value, n);
    return 0;
}
