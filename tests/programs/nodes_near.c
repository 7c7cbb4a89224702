/* Nodes hold their places and the numbers of their neighbours, and move to the middle of these.
   usage: nodes_near side steps natural */
#include "mesh.h"

typedef struct {
    double x, y, next_x, next_y;
    int count, near[6];
} Node;

static void link_nodes(Node *node, int a, int b)
{
    node[a].near[node[a].count++] = b;
    node[b].near[node[b].count++] = a;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    Node *node = calloc((size_t)m.vertices, sizeof *node);
    for (int i = 0; i < m.vertices; i++)
        node[i] = (Node){.x = i % 31, .y = i % 17};
    for (int e = 0; e < m.edges; e++)
        link_nodes(node, m.a[e], m.b[e]);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++) {
            Node *own = &node[i];
            double x = 0, y = 0;
            for (int k = 0; k < own->count; k++) {
                x += node[own->near[k]].x;
                y += node[own->near[k]].y;
            }
            own->next_x = x / own->count;
            own->next_y = y / own->count;
        }
        for (int i = 0; i < m.vertices; i++) {
            node[i].x += 0.5 * (node[i].next_x - node[i].x);
            node[i].y += 0.5 * (node[i].next_y - node[i].y);
        }
    }
    double sum = 0;
    for (int i = 0; i < m.vertices; i++)
        sum += node[i].x * node[i].y;
    printf("nodes %.12g %.12g\n", sum, node[0].x);
    return 0;
}
