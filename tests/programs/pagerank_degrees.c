/* PageRank of a graph without directions: each vertex asks how many neighbours each of its neighbours has.
   usage: pagerank_degrees side steps natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    Mesh m = make_mesh(side, natural);
    int n = m.vertices, *row, *col = neighbours(&m, &row);
    double *rank = filled(n, 0.01), *next = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        for (int v = 0; v < n; v++) {
            double sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++) {
                int u = col[k];
                sum += rank[u] / (row[u + 1] - row[u]);
            }
            next[v] = 0.15 + 0.85 * sum;
        }
        double *other = rank;
        rank = next;
        next = other;
    }
    tell("rank", rank, n);
    return 0;
}
