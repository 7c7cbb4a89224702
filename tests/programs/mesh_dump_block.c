/* A mesh whose values are written as a block every few steps, with the sum printed.
   usage: mesh_dump_block side steps natural */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    FILE *out = fopen("/dev/null", "wb");
    int every = argc > 4 ? atoi(argv[4]) : 8;
    for (int t = 0; t < steps; t++) {
        step(&m, u, r);
        if (t % every == 0) {
            double sum = 0;
            for (int i = 0; i < m.vertices; i++)
                sum += u[i] * (1 + i % 3);
            printf("%d %.9e\n", t, sum);
            fwrite(u, sizeof *u, (size_t)m.vertices, out);
        }
    }
    fclose(out);
    tell("u", u, m.vertices);
    return 0;
}
