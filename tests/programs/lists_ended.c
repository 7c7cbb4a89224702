/* Lists of neighbours in one array, each ended by -1.
   usage: lists_ended side steps natural [every] (a list is cut shorter each so many steps) */
#include "rows.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices, *start = calloc((size_t)n + 1, sizeof *start), *at = malloc((size_t)n * sizeof *at);
    for (int e = 0; e < m.edges; e++)
        start[m.a[e] + 1]++, start[m.b[e] + 1]++;
    for (int i = 0; i < n; i++)
        start[i + 1] += start[i] + 1, at[i] = start[i];
    int *list = malloc((size_t)start[n] * sizeof *list);
    for (int e = 0; e < m.edges; e++)
        list[at[m.a[e]]++] = m.b[e], list[at[m.b[e]]++] = m.a[e];
    for (int i = 0; i < n; i++)
        list[at[i]] = -1;
    double *x = filled(n, 0.01), *y = filled(n, 0);
    int every = argc > 4 ? atoi(argv[4]) : 0;
    for (int t = 0; t < steps; t++) {
        if (every && t % every == every - 1)
            list[start[(t * 7) % n] + 1] = -1;
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int k = start[i]; list[k] >= 0; k++)
                sum += x[list[k]];
            y[i] = 0.1 * sum;
        }
        for (int i = 0; i < n; i++)
            x[i] = 0.5 * x[i] + 0.5 * y[i];
    }
    tell("x", x, n);
    return 0;
}
