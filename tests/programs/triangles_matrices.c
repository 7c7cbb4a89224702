/* Triangles whose matrices are made in an array that is declared outside of all loops. usage: triangles_matrices side steps
   natural */
#include "mesh.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int n = side * side, cells = 0;
    int *number = numbering(n, natural), *place = numbering(2 * (side - 1) * (side - 1), natural);
    int(*tri)[3] = malloc(2 * (size_t)n * sizeof *tri);
    for (int y = 0; y + 1 < side; y++)
        for (int x = 0; x + 1 < side; x++)
            for (int half = 0; half < 2; half++) {
                int *corner = tri[place[cells++]];
                corner[0] = number[(y + half) * side + x + half];
                corner[1] = number[y * side + x + 1];
                corner[2] = number[(y + 1) * side + x];
            }
    double *u = filled(n, 0.01), *f = filled(n, 0), stiff[3][3];
    for (int t = 0; t < steps; t++) {
        for (int c = 0; c < cells; c++) {
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    stiff[i][j] = (i == j ? 1.0 : -0.5) * (1 + 0.1 * u[tri[c][i]] * u[tri[c][j]]);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    f[tri[c][i]] += stiff[i][j] * u[tri[c][j]];
        }
        for (int i = 0; i < n; i++) {
            u[i] -= 0.05 * f[i];
            f[i] = 0;
        }
    }
    tell("u", u, n);
    return 0;
}
