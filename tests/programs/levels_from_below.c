/* Breadth-first levels from below: a vertex that has none asks its neighbours until one lies in the front.
   usage: levels_from_below side sources natural */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, sources = argc > 2 ? atoi(argv[2]) : 2;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *length = degrees(&m), *row = calloc((size_t)n + 1, sizeof *row), *col;
    for (int v = 0; v < n; v++)
        row[v + 1] = row[v] + length[v];
    col = malloc((size_t)row[n] * sizeof *col);
    int *at = calloc((size_t)n, sizeof *at), *level = malloc((size_t)n * sizeof *level);
    for (int e = 0; e < m.edges; e++) {
        col[row[m.a[e]] + at[m.a[e]]++] = m.b[e];
        col[row[m.b[e]] + at[m.b[e]]++] = m.a[e];
    }
    long total = 0;
    for (int v = 0; v < n; v++)
        level[v] = -1;
    for (int s = 0; s < sources; s++)
        level[(int)((long)s * n / sources)] = 0;
    char *front = calloc((size_t)n, 1), *next = calloc((size_t)n, 1);
    for (int v = 0; v < n; v++)
        front[v] = level[v] == 0;
    int depth = 0, changed;
    do {
        changed = 0;
        for (int v = 0; v < n; v++) {
            next[v] = 0;
            if (level[v] < 0)
                for (int e = row[v]; e < row[v + 1]; e++)
                    if (front[col[e]]) {
                        level[v] = depth + 1;
                        next[v] = 1;
                        changed = 1;
                        break;
                    }
        }
        char *t = front;
        front = next;
        next = t;
        depth++;
    } while (changed);
    for (int v = 0; v < n; v++)
        total += level[v];
    printf("%d %ld\n", depth, total);
    return 0;
}
