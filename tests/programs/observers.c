/* Objects, each with a list of those that it observes: a job writes its own record and reads theirs.
   usage: observers side steps natural */
#include "rows.h"

typedef struct {
    double value, next;
    int n, room;
    int *list;
    double scale;
} Node;

static void observe(Node *node, int other)
{
    if (node->n == node->room) {
        node->room = 2 * node->room + 2;
        node->list = realloc(node->list, (size_t)node->room * sizeof *node->list);
    }
    node->list[node->n++] = other;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices;
    Node *node = calloc((size_t)n, sizeof *node);
    double *value = malloc((size_t)n * sizeof *value);
    for (int e = 0; e < m.edges; e++) {
        observe(&node[m.a[e]], m.b[e]);
        observe(&node[m.b[e]], m.a[e]);
    }
    if (argc > 4) /* two objects share a list */
        node[n / 2].list = node[n / 3].list, node[n / 2].n = node[n / 3].n;
    for (int i = 0; i < n; i++) {
        node[i].value = 0.01 * (i % 7);
        node[i].scale = 1.0 / (1 + node[i].n);
    }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int k = 0; k < node[i].n; k++)
                sum += node[node[i].list[k]].value;
            node[i].next = node[i].scale * sum;
        }
        for (int i = 0; i < n; i++)
            node[i].value = 0.5 * node[i].value + 0.4 * node[i].next + 1e-3;
    }
    for (int i = 0; i < n; i++)
        value[i] = node[i].value;
    tell("value", value, n);
    return 0;
}
