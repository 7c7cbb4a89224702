/* Ranks that each page hands on to those that it links to. usage: pagerank_push side steps natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *row, *to = neighbours(&m, &row);
    double *rank = filled(n, 0.01), *next = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        for (int v = 0; v < n; v++) {
            double share = rank[v] / (row[v + 1] - row[v]);
            for (int e = row[v]; e < row[v + 1]; e++)
                next[to[e]] += share;
        }
        for (int v = 0; v < n; v++) {
            rank[v] = 0.15 / n + 0.85 * next[v];
            next[v] = 0;
        }
    }
    tell("rank", rank, n);
    return 0;
}
