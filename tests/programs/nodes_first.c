/* Nodes say where their links begin and how many there are, beside the heights that change; progress goes to stderr.
   usage: nodes_first side steps natural every */
#include "mesh.h"

typedef struct {
    double height, next;
    int first, degree;
} Node;

typedef struct {
    int to;
    float weight;
} Link;

static void put(Node *node, Link *link, int from, int to, double weight)
{
    link[node[from].first + node[from].degree++] = (Link){to, (float)weight};
}

static double total(const Node *node, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += node[i].height * node[i].height;
    return sum;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    int every = argc > 4 ? atoi(argv[4]) : 7;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    Node *node = calloc((size_t)m.vertices, sizeof *node);
    Link *link = malloc(2 * (size_t)m.edges * sizeof *link);
    for (int e = 0; e < m.edges; e++) {
        node[m.a[e]].degree++;
        node[m.b[e]].degree++;
    }
    for (int i = 0, at = 0; i < m.vertices; i++) {
        node[i].first = at;
        at += node[i].degree;
        node[i].degree = 0;
        node[i].height = i % 31;
    }
    for (int e = 0; e < m.edges; e++) {
        put(node, link, m.a[e], m.b[e], m.weight[e]);
        put(node, link, m.b[e], m.a[e], m.weight[e]);
    }
    double last = total(node, m.vertices);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++) {
            Node *own = &node[i];
            double flow = 0;
            for (int k = 0; k < own->degree; k++) {
                const Link *one = &link[own->first + k];
                flow += one->weight * (node[one->to].height - own->height);
            }
            own->next = own->height + 0.1 * flow;
        }
        for (int i = 0; i < m.vertices; i++)
            node[i].height = node[i].next;
        double now = total(node, m.vertices);
        if (fabs(now - last) < 1e-12 * now)
            break;
        last = now;
        if (t % every == 0)
            fprintf(stderr, "step %d: %.6g\n", t, now);
    }
    printf("nodes %.10g %.10g\n", last, node[0].height);
    return 0;
}
