/* A mesh whose values are checked by a process of its own every few steps, and which gives up on bad ones.
   usage: mesh_forking side steps natural */
#include <sys/wait.h>
#include <unistd.h>

#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    double *u = filled(m.vertices, 0.01), *r = filled(m.vertices, 0);
    int every = argc > 4 ? atoi(argv[4]) : 8;
    for (int t = 0; t < steps; t++) {
        step(&m, u, r);
        if (!(fabs(u[0]) < 1e6)) {
            fprintf(stderr, "no convergence\n");
            exit(3);
        }
        if (t % every == 0) {
            int status = 0;
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                tell("child", u, m.vertices);
                fflush(stdout);
                _exit(0);
            }
            waitpid(child, &status, 0);
        }
    }
    tell("u", u, m.vertices);
    return 0;
}
