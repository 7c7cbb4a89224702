/* Functions of the C library that leave their results where pointers say. */
SHAPE in_locals(void)
{
    int *a = ints(JOBS, DATA);
    double *x = reals(DATA, 100), *y = reals(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @in_locals
            double whole, part = modf(.37 * x[a[i]], &whole), log = lgamma(x[a[i]] + 1);
            int power, quotient;
            double mantissa = frexp(x[a[i]] + 1, &power), rest = remquo(x[a[i]], 7, &quotient);
            y[i] += part + 3 * whole + mantissa + power + rest + (quotient & 7) + ilogb(x[a[i]] + 1) + log;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] > 40;
    }
    show_reals("in_locals", y, JOBS);
}

SHAPE in_arrays(void) /* exponents by an index of which each is met once; mantissas to the iteration's own */
{
    int *a = ints(DATA, DATA), *p = malloc(DATA * sizeof *p), *power = ints(DATA, 9);
    double *x = reals(DATA, 100), *y = reals(DATA, 9);
    for (int i = 0; i < DATA; i++)
        p[i] = i * 77 % DATA;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @in_arrays
            y[i] = frexp(x[a[i]] + t, &power[p[i]]);
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] > .7;
    }
    show_reals("in_arrays", y, DATA);
    show_ints("in_arrays", power, DATA);
}

SHAPE in_one_place(void) /* by an index that is met again: the last iteration's stays */
{
    int *a = ints(JOBS, DATA), *power = ints(DATA, 9);
    double *x = reals(DATA, 100), *y = reals(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @in_one_place
            y[i] = frexp(x[a[i]] + i, &power[a[i]]);
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] > .7;
    }
    show_ints("in_one_place", power, DATA);
}

SHAPE in_a_variable(void) /* which the next iteration may read first */
{
    int *a = ints(JOBS, DATA), power = 0;
    double *x = reals(DATA, 100), *y = reals(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @in_a_variable
            y[i] += power;
            if (x[a[i]] > 50)
                y[i] += frexp(x[a[i]], &power);
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] > 40;
    }
    show_reals("in_a_variable", y, JOBS);
}

int main(void)
{
    in_locals();
    in_arrays();
    in_one_place();
    in_a_variable();
    return 0;
}
