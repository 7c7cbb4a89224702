/* Particles pushed apart by those in the cells around; every tenth step they are sorted into cells anew.
   usage: cell_list side steps natural */
#include "mesh.h"
enum { AGAIN = 10 };
static void sort_into_cells(int n, const double *x, const double *y, int side, int *cell, int *start, int *list)
{
    int cells = side * side;
    memset(start, 0, ((size_t)cells + 1) * sizeof *start);
    for (int i = 0; i < n; i++) {
        cell[i] = (int)y[i] * side + (int)x[i];
        start[cell[i] + 1]++;
    }
    for (int c = 0; c < cells; c++)
        start[c + 1] += start[c];
    for (int i = 0; i < n; i++)
        list[start[cell[i]]++] = i;
    for (int c = cells; c > 0; c--)
        start[c] = start[c - 1];
    start[0] = 0;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int cells = side * side, n = 2 * cells, *number = numbering(n, natural);
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y), *fx = filled(n, 0), *fy = filled(n, 0);
    int *start = malloc(((size_t)cells + 1) * sizeof *start), *cell = malloc((size_t)n * sizeof *cell);
    int *list = malloc((size_t)n * sizeof *list);
    for (int i = 0; i < n; i++) {
        int c = number[i] / 2;
        x[i] = c % side + 0.3 + 0.4 * (number[i] & 1);
        y[i] = c / side + 0.2 + 0.1 * (c % 5);
    }
    sort_into_cells(n, x, y, side, cell, start, list);
    for (int t = 0; t < steps; t++) {
        if (t % AGAIN == AGAIN - 1)
            sort_into_cells(n, x, y, side, cell, start, list);
        for (int i = 0; i < n; i++) {
            int row = cell[i] / side, column = cell[i] % side;
            double sx = 0, sy = 0;
            for (int dy = row > 0 ? -1 : 0; dy <= 1 && row + dy < side; dy++) {
                int first = cell[i] + dy * side, low = first - (column > 0), high = first + (column + 1 < side);
                for (int k = start[low]; k < start[high + 1]; k++) {
                    int j = list[k];
                    double dx = x[i] - x[j], ey = y[i] - y[j], r2 = dx * dx + ey * ey;
                    if (r2 < 1 && j != i) {
                        sx += dx * (1 - r2);
                        sy += ey * (1 - r2);
                    }
                }
            }
            fx[i] = sx;
            fy[i] = sy;
        }
        for (int i = 0; i < n; i++) {
            x[i] = fmin(fmax(x[i] + 0.001 * fx[i], 0), side - 0.001);
            y[i] = fmin(fmax(y[i] + 0.001 * fy[i], 0), side - 0.001);
        }
    }
    tell("x", x, n);
    tell("y", y, n);
    return 0;
}
