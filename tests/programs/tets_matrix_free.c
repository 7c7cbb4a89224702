/* Tetrahedra take their four points' values, multiply by their matrix, and add to the points.
   usage: tets_matrix_free side steps natural */
#include "mesh.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 10, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    side = side > 30 ? side : side / 3 + 2;
    int n = side * side * side, cubes = (side - 1) * (side - 1) * (side - 1);
    int *name = numbering(n, natural), *place = numbering(5 * cubes, natural), at = 0;
    int(*tet)[4] = malloc(5 * (size_t)cubes * sizeof *tet);
    static const int corner[5][4] = {{0, 1, 2, 4}, {3, 1, 2, 7}, {5, 1, 4, 7}, {6, 2, 4, 7}, {1, 2, 4, 7}};
    for (int z = 0; z + 1 < side; z++)
        for (int y = 0; y + 1 < side; y++)
            for (int x = 0; x + 1 < side; x++)
                for (int k = 0; k < 5; k++, at++)
                    for (int c = 0; c < 4; c++) {
                        int bits = corner[k][c];
                        tet[place[at]][c] = name[((z + (bits >> 2)) * side + y + (bits >> 1 & 1)) * side + x + (bits & 1)];
                    }
    double *u = filled(n, 0.01), *r = filled(n, 0);
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < at; e++) {
            double local[4], sum = 0;
            for (int c = 0; c < 4; c++) {
                local[c] = u[tet[e][c]];
                sum += local[c];
            }
            for (int c = 0; c < 4; c++)
                r[tet[e][c]] += 0.01 * (sum - 4 * local[c]);
        }
        for (int i = 0; i < n; i++) {
            u[i] += r[i];
            r[i] = 0;
        }
    }
    tell("u", u, n);
    return 0;
}
