/* Conjugate gradients on rows (CSR) by vector routines as reference BLAS has them: loops unrolled by hand, what is left
   over in front of them or behind, and another way for vectors with gaps.
   usage: cg_routines side steps natural */
#include "mesh.h"

static void add(const int *n, const double *factor, const double *x, const int *gap_x, double *y, const int *gap_y)
{
    long i, first, second, count = *n, step_x = *gap_x, step_y = *gap_y;
    double a = *factor;
    if (count <= 0 || a == 0)
        return;
    if (step_x == 1 && step_y == 1) {
        for (i = 0; i < count - 3; i += 4) {
            y[i] += a * x[i];
            y[i + 1] += a * x[i + 1];
            y[i + 2] += a * x[i + 2];
            y[i + 3] += a * x[i + 3];
        }
        for (; i < count; i++)
            y[i] += a * x[i];
        return;
    }
    first = step_x < 0 ? (1 - count) * step_x : 0;
    second = step_y < 0 ? (1 - count) * step_y : 0;
    for (i = 0; i < count; i++, first += step_x, second += step_y)
        y[second] += a * x[first];
}

static double product(const int *n, const double *x, const int *gap_x, const double *y, const int *gap_y)
{
    int i, first, second, rest = *n % 5;
    double sum = 0;
    if (*n <= 0)
        return 0;
    if (*gap_x != 1 || *gap_y != 1) {
        first = *gap_x < 0 ? (1 - *n) * *gap_x : 0;
        second = *gap_y < 0 ? (1 - *n) * *gap_y : 0;
        for (i = 0; i < *n; i++, first += *gap_x, second += *gap_y)
            sum += x[first] * y[second];
        return sum;
    }
    for (i = 0; i < rest; i++)
        sum += x[i] * y[i];
    if (*n < 5)
        return sum;
    for (i = rest; i < *n; i += 5)
        sum += x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2] + x[i + 3] * y[i + 3] + x[i + 4] * y[i + 4];
    return sum;
}

static void scale(int n, double a, double *x, int gap)
{
    int i, rest = n % 8;
    if (gap != 1) {
        for (i = 0; i < n * gap; i += gap)
            x[i] *= a;
        return;
    }
    for (i = 0; i < rest; i++)
        x[i] *= a;
    for (i = rest; i < n; i += 8) {
        x[i] *= a;
        x[i + 1] *= a;
        x[i + 2] *= a;
        x[i + 3] *= a;
        x[i + 4] *= a;
        x[i + 5] *= a;
        x[i + 6] *= a;
        x[i + 7] *= a;
    }
}

static void copy(int n, const double *x, double *y)
{
    int i;
    for (i = n - 1; i > 0; i -= 2) { /* from the last to the first */
        y[i] = x[i];
        y[i - 1] = x[i - 1];
    }
    if (i == 0)
        y[0] = x[0];
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, one = 1;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    int n = argc > 4 ? atoi(argv[4]) : m.vertices;
    int *row = calloc((size_t)m.vertices + 2, sizeof *row), *column = malloc(2 * (size_t)m.edges * sizeof *column);
    double *value = malloc(2 * (size_t)m.edges * sizeof *value), *diagonal = filled(m.vertices, 0.1);
    for (int e = 0; e < m.edges; e++) {
        row[m.a[e] + 2]++;
        row[m.b[e] + 2]++;
    }
    for (int i = 0; i < m.vertices; i++)
        row[i + 2] += row[i + 1];
    for (int e = 0; e < m.edges; e++) {
        int i = row[m.a[e] + 1]++, j = row[m.b[e] + 1]++;
        column[i] = m.b[e];
        column[j] = m.a[e];
        value[i] = value[j] = -m.weight[e];
        diagonal[m.a[e]] += m.weight[e];
        diagonal[m.b[e]] += m.weight[e];
    }
    double *x = filled(m.vertices, 0), *r = filled(m.vertices, 1), *p = filled(m.vertices, 1);
    double *q = filled(m.vertices, 0), *best = filled(m.vertices, 0);
    double rho = product(&n, r, &one, r, &one);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++) {
            double sum = diagonal[i] * p[i];
            for (int k = row[i]; k < row[i + 1]; k++)
                sum += value[k] * p[column[k]];
            q[i] = sum;
        }
        double old = rho, alpha = rho / product(&n, p, &one, q, &one), away = -alpha, whole = 1;
        add(&n, &alpha, p, &one, x, &one);
        add(&n, &away, q, &one, r, &one);
        rho = product(&n, r, &one, r, &one);
        scale(n, rho / old, p, 1);
        add(&n, &whole, r, &one, p, &one);
        copy(n, x, best);
    }
    printf("%d %.6f\n", steps, sqrt(rho));
    tell("x", best, m.vertices);
    return 0;
}
