/* Shortest distances by sweeps until none changes: the flag is set last, behind a pointer, and relaxations are counted.
   usage: shortest_paths side rounds natural */
#include "rows.h"

typedef struct {
    int n, *row, *col;
    float *length;
} Graph;

typedef struct {
    float *known, *next;
    int changed;
    long relaxed;
} State;

static void sweep(const Graph *g, State *s)
{
    for (int v = 0; v < g->n; v++) {
        float best = s->known[v];
        for (int e = g->row[v]; e < g->row[v + 1]; e++) {
            float d = s->known[g->col[e]] + g->length[e];
            if (d < best) {
                best = d;
                s->relaxed++;
            }
        }
        s->next[v] = best;
        if (best < s->known[v])
            s->changed = 1;
    }
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, most = argc > 2 ? atoi(argv[2]) : 20, rounds = 0;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int *length = degrees(&m);
    Graph g = {m.vertices, calloc((size_t)m.vertices + 1, sizeof(int)), NULL, NULL};
    for (int v = 0; v < g.n; v++)
        g.row[v + 1] = g.row[v] + length[v];
    g.col = malloc((size_t)g.row[g.n] * sizeof *g.col);
    g.length = malloc((size_t)g.row[g.n] * sizeof *g.length);
    int *filled = calloc((size_t)g.n, sizeof *filled);
    for (int e = 0; e < m.edges; e++) {
        g.col[g.row[m.a[e]] + filled[m.a[e]]++] = m.b[e];
        g.col[g.row[m.b[e]] + filled[m.b[e]]++] = m.a[e];
    }
    for (int e = 0; e < g.row[g.n]; e++)
        g.length[e] = 1 + e % 9;
    State *s = malloc(sizeof *s);
    s->known = malloc((size_t)g.n * sizeof(float));
    s->next = malloc((size_t)g.n * sizeof(float));
    s->relaxed = 0;
    for (int v = 0; v < g.n; v++)
        s->known[v] = v % 500 ? 1e9f : 0;
    do {
        s->changed = 0;
        sweep(&g, s);
        float *t = s->known;
        s->known = s->next;
        s->next = t;
    } while (s->changed && ++rounds < most);
    double sum = 0;
    for (int v = 0; v < g.n; v++)
        sum += s->known[v];
    printf("%d %ld %.9e\n", rounds, s->relaxed, sum);
    return 0;
}
