/*
 * cfd_elements: flow of a gas, a job for each element, which looks at its four neighbours.
 *
 * Each element reads five fields of each neighbour, through the numbers of its neighbours; both sides of a face compute
 * its flux. Elements are numbered at random; the remedy (-DFIXED) numbers them row by row.
 *
 *     cc -O2 -std=c11 cfd_elements.c -o cfd_elements -lm
 *     ./cfd_elements [SIDE [STEPS [SEED]]]
 */
#include "cfd.h"

#define SIDES 4
#define WALL -1

/* Across side s of element i is across[SIDES * i + s]; its normal, as long as the face, has x and y there, too. */
static void compute_flux(int n, const int *across, const float *nx, const float *ny, const Fields *u, const Fields *out)
{
    const float *d = u->d, *mx = u->mx, *my = u->my, *mz = u->mz, *e = u->e;
    float *out_d = out->d, *out_mx = out->mx, *out_my = out->my, *out_mz = out->mz, *out_e = out->e;
    for (int i = 0; i < n; i++) {
        Gas mine = gas_of(d[i], mx[i], my[i], mz[i], e[i]);
        float fd = 0, fx = 0, fy = 0, fz = 0, fe = 0;
        for (int s = 0; s < SIDES; s++) {
            int o = across[SIDES * i + s];
            float x = nx[SIDES * i + s], y = ny[SIDES * i + s];
            if (o == WALL) {
                fx += mine.p * x;
                fy += mine.p * y;
            } else {
                Gas other = gas_of(d[o], mx[o], my[o], mz[o], e[o]);
                float vn = mine.vx * x + mine.vy * y, on = other.vx * x + other.vy * y;
                float loss = 0.25f * (mine.fastest + other.fastest) * sqrtf(x * x + y * y);
                fd += through(mine.d, other.d, vn, on, loss);
                fx += through(mine.mx, other.mx, vn, on, loss) + 0.5f * (mine.p + other.p) * x;
                fy += through(mine.my, other.my, vn, on, loss) + 0.5f * (mine.p + other.p) * y;
                fz += through(mine.mz, other.mz, vn, on, loss);
                fe += through(mine.e + mine.p, other.e + other.p, vn, on, loss);
            }
        }
        out_d[i] = fd;
        out_mx[i] = fx;
        out_my[i] = fy;
        out_mz[i] = fz;
        out_e[i] = fe;
    }
}

/* Step of each element, by how fast waves leave it. */
static void step_factors(int n, const Fields *u, float *factor)
{
    const float *d = u->d, *mx = u->mx, *my = u->my, *mz = u->mz, *e = u->e;
    for (int i = 0; i < n; i++)
        factor[i] = 0.2f / gas_of(d[i], mx[i], my[i], mz[i], e[i]).fastest;
}

static void time_step(int n, const float *factor, const Fields *out, const Fields *u)
{
    const float *out_d = out->d, *out_mx = out->mx, *out_my = out->my, *out_mz = out->mz, *out_e = out->e;
    float *d = u->d, *mx = u->mx, *my = u->my, *mz = u->mz, *e = u->e;
    for (int i = 0; i < n; i++) {
        d[i] -= factor[i] * out_d[i];
        mx[i] -= factor[i] * out_mx[i];
        my[i] -= factor[i] * out_my[i];
        mz[i] -= factor[i] * out_mz[i];
        e[i] -= factor[i] * out_e[i];
    }
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 400, 4000, 20);
    int side = given.size, n = side * side;
    int *number = new_numbers(n, REMEDY, &given.random), *across = new_ints(SIDES * n);
    float *nx = new_floats(SIDES * n), *ny = new_floats(SIDES * n), *factor = new_floats(n);
    static const int right[SIDES] = {1, -1, 0, 0}, down[SIDES] = {0, 0, 1, -1};
    for (int row = 0; row < side; row++)
        for (int column = 0; column < side; column++)
            for (int s = 0; s < SIDES; s++) {
                int i = number[side * row + column], r = row + down[s], c = column + right[s];
                int inside = r >= 0 && r < side && c >= 0 && c < side;
                across[SIDES * i + s] = inside ? number[side * r + c] : WALL;
                nx[SIDES * i + s] = (float)right[s];
                ny[SIDES * i + s] = (float)down[s];
            }
    Fields u = new_fields(n), out = new_fields(n);
    start(&u, number, side);
    double begin = seconds();
    for (int step = 0; step < given.steps; step++) {
        step_factors(n, &u, factor);
        compute_flux(n, across, nx, ny, &u, &out);
        time_step(n, factor, &out, &u);
    }
    tell_time(begin);
    print_fields(&u, n);
    return 0;
}
