/*
 * cfd_edges: flow of a gas, a job for each edge: the interaction of two elements, as in the list of the seed's Listing 1.
 *
 * Each edge reads five fields of both its elements and adds its flux to both. Elements are numbered at random, edges
 * follow the first of them; the remedy (-DFIXED) numbers elements row by row.
 *
 *     cc -O2 -std=c11 cfd_edges.c -o cfd_edges -lm
 *     ./cfd_edges [SIDE [STEPS [SEED]]]
 */
#include "cfd.h"

static void compute_flux(int edges, const int *a, const int *b, const float *nx, const float *ny, const Fields *u,
                         const Fields *out)
{
    const float *d = u->d, *mx = u->mx, *my = u->my, *mz = u->mz, *e = u->e;
    float *out_d = out->d, *out_mx = out->mx, *out_my = out->my, *out_mz = out->mz, *out_e = out->e;
    for (int k = 0; k < edges; k++) {
        int i = a[k], o = b[k];
        float x = nx[k], y = ny[k];
        Gas mine = gas_of(d[i], mx[i], my[i], mz[i], e[i]), other = gas_of(d[o], mx[o], my[o], mz[o], e[o]);
        float vn = mine.vx * x + mine.vy * y, on = other.vx * x + other.vy * y;
        float loss = 0.25f * (mine.fastest + other.fastest) * sqrtf(x * x + y * y);
        float fd = through(mine.d, other.d, vn, on, loss);
        float fx = through(mine.mx, other.mx, vn, on, loss) + 0.5f * (mine.p + other.p) * x;
        float fy = through(mine.my, other.my, vn, on, loss) + 0.5f * (mine.p + other.p) * y;
        float fz = through(mine.mz, other.mz, vn, on, loss);
        float fe = through(mine.e + mine.p, other.e + other.p, vn, on, loss);
        out_d[i] += fd;
        out_mx[i] += fx;
        out_my[i] += fy;
        out_mz[i] += fz;
        out_e[i] += fe;
        out_d[o] -= fd;
        out_mx[o] -= fx;
        out_my[o] -= fy;
        out_mz[o] -= fz;
        out_e[o] -= fe;
    }
}

/* The update, which leaves room for the next fluxes. */
static void time_step(int n, float factor, const Fields *out, const Fields *u)
{
    float *out_d = out->d, *out_mx = out->mx, *out_my = out->my, *out_mz = out->mz, *out_e = out->e;
    float *d = u->d, *mx = u->mx, *my = u->my, *mz = u->mz, *e = u->e;
    for (int i = 0; i < n; i++) {
        d[i] -= factor * out_d[i];
        mx[i] -= factor * out_mx[i];
        my[i] -= factor * out_my[i];
        mz[i] -= factor * out_mz[i];
        e[i] -= factor * out_e[i];
        out_d[i] = out_mx[i] = out_my[i] = out_mz[i] = out_e[i] = 0;
    }
}

static int by_first(const void *one, const void *other)
{
    const int *p = one, *q = other;
    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 400, 4000, 20);
    int side = given.size, n = side * side, edges = 0;
    int *number = new_numbers(n, REMEDY, &given.random), *list = new_ints(6 * n); /* element, element, direction */
    for (int row = 0; row < side; row++) /* the square is closed: its last row lies beside the first */
        for (int column = 0; column < side; column++)
            for (int down = 0; down < 2; down++, edges++) {
                int r = (row + down) % side, c = (column + 1 - down) % side;
                list[3 * edges] = number[side * row + column];
                list[3 * edges + 1] = number[side * r + c];
                list[3 * edges + 2] = down;
            }
    qsort(list, (size_t)edges, 3 * sizeof *list, by_first);
    int *a = new_ints(edges), *b = new_ints(edges);
    float *nx = new_floats(edges), *ny = new_floats(edges);
    for (int k = 0; k < edges; k++) {
        a[k] = list[3 * k];
        b[k] = list[3 * k + 1];
        nx[k] = list[3 * k + 2] ? 0.0f : 1.0f;
        ny[k] = list[3 * k + 2] ? 1.0f : 0.0f;
    }
    Fields u = new_fields(n), out = new_fields(n);
    start(&u, number, side);
    double begin = seconds();
    for (int step = 0; step < given.steps; step++) {
        compute_flux(edges, a, b, nx, ny, &u, &out);
        time_step(n, 0.1f, &out, &u);
    }
    tell_time(begin);
    print_fields(&u, n);
    return 0;
}
