/* Particles in cells: charge to the grid, field back to the particles. usage: particles_in_cells side steps natural */
#include "mesh.h"
typedef struct { double x, y, vx, vy; } Particle;
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int n = 2 * side * side;
    int *number = numbering(n, natural);
    Particle *p = malloc((size_t)n * sizeof *p);
    double *rho = filled(side * side, 0), *field = filled(side * side, 0.0001);
    for (int i = 0; i < n; i++) {
        int c = number[i] / 2;
        p[i] = (Particle){c % side + 0.3, c / side + 0.6, 0, 0};
    }
    for (int t = 0; t < steps; t++) {
        for (int k = 0; k < side * side; k++)
            rho[k] = 0;
        for (int i = 0; i < n; i++) {
            int cell = (int)p[i].y * side + (int)p[i].x;
            rho[cell] += 0.5;
        }
        for (int k = 0; k < side * side; k++)
            field[k] = 0.9 * field[k] + 0.001 * rho[k];
        for (int i = 0; i < n; i++) {
            int cell = (int)p[i].y * side + (int)p[i].x;
            p[i].vx += 0.001 * field[cell];
            p[i].vy -= 0.001 * field[cell];
            p[i].x += 0.01 * p[i].vx;
            p[i].y += 0.01 * p[i].vy;
        }
    }
    double sx = 0, sy = 0;
    for (int i = 0; i < n; i++)
        sx += p[i].x, sy += p[i].y;
    printf("%.9e %.9e\n", sx, sy);
    return 0;
}
