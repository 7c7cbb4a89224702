/* Conjugate gradients on rows (CSR), restarted: outer steps of a fixed number of inner ones, the residual printed.
   usage: cg_restarts side steps natural */
#include "mesh.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 4;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = m.vertices;
    int *row = calloc((size_t)n + 2, sizeof *row), *column = malloc(2 * (size_t)m.edges * sizeof *column);
    double *value = malloc(2 * (size_t)m.edges * sizeof *value), *diagonal = filled(n, 0);
    for (int e = 0; e < m.edges; e++) {
        row[m.a[e] + 2]++;
        row[m.b[e] + 2]++;
    }
    for (int i = 0; i < n; i++)
        row[i + 2] += row[i + 1];
    for (int e = 0; e < m.edges; e++) {
        int i = row[m.a[e] + 1]++, j = row[m.b[e] + 1]++;
        column[i] = m.b[e];
        column[j] = m.a[e];
        value[i] = value[j] = -m.weight[e];
        diagonal[m.a[e]] += m.weight[e];
        diagonal[m.b[e]] += m.weight[e];
    }
    double *x = filled(n, 0), *z = filled(n, 0), *r = filled(n, 0), *p = filled(n, 0), *q = filled(n, 0);
    for (int i = 0; i < n; i++)
        x[i] = 1 + 0.1 * (i % 3);
    for (int t = 0; t < steps; t++) {
        double rho = 0, size = 0, dot = 0;
        for (int i = 0; i < n; i++) {
            z[i] = 0;
            r[i] = p[i] = x[i];
            rho += r[i] * r[i];
        }
        for (int s = 0; s < 12; s++) {
            double d = 0, old = rho;
            for (int i = 0; i < n; i++) {
                double sum = (0.1 + diagonal[i]) * p[i];
                for (int k = row[i]; k < row[i + 1]; k++)
                    sum += value[k] * p[column[k]];
                q[i] = sum;
            }
            for (int i = 0; i < n; i++)
                d += p[i] * q[i];
            double alpha = rho / d;
            rho = 0;
            for (int i = 0; i < n; i++) {
                z[i] += alpha * p[i];
                r[i] -= alpha * q[i];
                rho += r[i] * r[i];
            }
            double beta = rho / old;
            for (int i = 0; i < n; i++)
                p[i] = r[i] + beta * p[i];
        }
        for (int i = 0; i < n; i++) {
            size += z[i] * z[i];
            dot += x[i] * z[i];
        }
        printf("%d %.6e %.9e\n", t, sqrt(rho) / sqrt(size), dot / size);
        for (int i = 0; i < n; i++)
            x[i] = z[i] / sqrt(size);
    }
    tell("x", x, n);
    return 0;
}
