/* Components: each vertex takes the smallest label around it, until none changes.
   usage: labels_spread side rounds natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, most = argc > 2 ? atoi(argv[2]) : 20, rounds = 0, changed;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *row, *col = neighbours(&m, &row);
    int *label = malloc((size_t)n * sizeof *label), *next = malloc((size_t)n * sizeof *next);
    for (int v = 0; v < n; v++)
        label[v] = v;
    do {
        changed = 0;
        for (int v = 0; v < n; v++) {
            int best = label[v];
            for (int e = row[v]; e < row[v + 1]; e++)
                if (label[col[e]] < best)
                    best = label[col[e]];
            next[v] = best;
            if (best != label[v])
                changed = 1;
        }
        int *t = label;
        label = next;
        next = t;
    } while (changed && ++rounds < most);
    long sum = 0;
    for (int v = 0; v < n; v++)
        sum += label[v];
    printf("%d %ld\n", rounds, sum);
    return 0;
}
