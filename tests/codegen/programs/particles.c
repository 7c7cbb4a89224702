/* Particles that follow a disk through a grid: likelihoods, weights, a search in their cumulative sums, a gather. */
#define GRID 40
#define RADIUS 2
#define OFFSETS ((2 * RADIUS + 1) * (2 * RADIUS + 1))

/* How well the grid around each particle fits; the offsets of a disk are the same for all. */
SHAPE likelihoods(const unsigned char *grid, const int *du, const int *dv, int count, const double *x, const double *y,
                  double *like, int n)
{
    for (int i = 0; i < n; i++) { // @likelihoods
        int u = (int)(x[i] + 0.5), v = (int)(y[i] + 0.5);
        double s = 0;
        for (int k = 0; k < count; k++) {
            int at = abs((u + du[k]) * GRID + v + dv[k]);
            if (at >= GRID * GRID)
                at = 0;
            s += ((grid[at] - 100) * (grid[at] - 100) - (grid[at] - 228) * (grid[at] - 228)) / 50.0;
        }
        like[i] = s / count;
    }
}

/* The same with a table of the places, as far as it is written by the loop itself. */
SHAPE through_table(const unsigned char *grid, const int *du, const int *dv, int count, const double *x,
                    const double *y, int *table, double *like, int n)
{
    for (int i = 0; i < n; i++) { // @through_table
        int u = (int)(x[i] + 0.5), v = (int)(y[i] + 0.5);
        for (int k = 0; k < count; k++) {
            int at = abs((u + du[k]) * GRID + v + dv[k]);
            table[i * count + k] = at >= GRID * GRID ? 0 : at;
        }
        double s = 0;
        for (int k = 0; k < count; k++)
            s += grid[table[i * count + k]];
        like[i] = s / count;
    }
}

SHAPE weigh(double *w, const double *like, int n)
{
    for (int i = 0; i < n; i++) // @weigh
        w[i] *= exp(0.001 * like[i]);
}

static double total(const double *w, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) // @total
        s += w[i];
    return s;
}

SHAPE scale(double *w, double by, int n)
{
    for (int i = 0; i < n; i++) // @scale
        w[i] /= by;
}

SHAPE cumulate(double *c, const double *w, int n)
{
    c[0] = w[0];
    for (int i = 1; i < n; i++) // @cumulate
        c[i] = w[i] + c[i - 1];
}

/* The first sum that is not less than u: a search in a function of its own, which is left by return. */
static int find_index(const double *c, int n, double u)
{
    for (int j = 0; j < n; j++)
        if (c[j] >= u)
            return j;
    return n - 1;
}

/* Search and gather at once. */
SHAPE resample(const double *c, const double *u, const double *x, const double *y, double *xn, double *yn, int n)
{
    for (int i = 0; i < n; i++) { // @resample
        int at = find_index(c, n, u[i]);
        xn[i] = x[at];
        yn[i] = y[at];
    }
}

/* The search stores what it found; the gather reads it. */
SHAPE search(const double *c, const double *u, int *found, int n)
{
    for (int i = 0; i < n; i++) { // @search
        int at = -1;
        for (int j = 0; j < n; j++)
            if (c[j] >= u[i]) {
                at = j;
                break;
            }
        found[i] = at < 0 ? n - 1 : at;
    }
}

SHAPE gather(const int *found, const double *x, const double *y, double *xn, double *yn, int n)
{
    for (int i = 0; i < n; i++) { // @gather
        xn[i] = x[found[i]];
        yn[i] = y[found[i]];
    }
}

/* By halves. */
SHAPE bisect(const double *c, const double *u, int *found, int n)
{
    for (int i = 0; i < n; i++) { // @bisect
        int low = 0, high = n - 1;
        while (low < high) {
            int middle = (low + high) / 2;
            if (c[middle] >= u[i])
                high = middle;
            else
                low = middle + 1;
        }
        found[i] = low;
    }
}

/* Near miss: the search marks what it passes, and iterations pass the same places. */
SHAPE marking(double *c, const double *u, int *found, int n)
{
    for (int i = 0; i < n; i++) { // @marking
        int j = 0;
        for (; j < n - 1; j++) {
            if (c[j] >= u[i])
                break;
            c[j] += 1e-9;
        }
        found[i] = j;
    }
}

/* Near miss: the search goes on where the one before ended. */
SHAPE going_on(const double *c, const double *u, int *found, int n)
{
    int j = 0;
    for (int i = 0; i < n; i++) { // @going_on
        while (j < n - 1 && c[j] < u[i])
            j++;
        found[i] = j;
    }
}

/* Near miss: the search ends where an earlier iteration has been. */
SHAPE first_free(const int *start, int *taken, int n)
{
    for (int i = 0; i < n; i++) { // @first_free
        int j = start[i];
        while (taken[j] >= 0)
            j++;
        taken[j] = i;
    }
}

int main(void)
{
    int n = JOBS, count = 0, du[OFFSETS], dv[OFFSETS], *found = calloc(JOBS, sizeof *found);
    unsigned char *grid = bytes(GRID * GRID, 250);
    double *x = reals(JOBS, GRID), *y = reals(JOBS, GRID), *like = reals(JOBS, 1), *w = reals(JOBS, 1);
    double *c = reals(JOBS, 1), *xn = reals(JOBS, 1), *yn = reals(JOBS, 1), *u = reals(JOBS, 1);
    for (int i = -RADIUS; i <= RADIUS; i++)
        for (int j = -RADIUS; j <= RADIUS; j++)
            if (i * i + j * j <= RADIUS * RADIUS)
                du[count] = i, dv[count++] = j;
    int *table = calloc((size_t)(JOBS * count), sizeof *table), *start = ints(JOBS, JOBS);
    int *taken = malloc(2 * JOBS * sizeof *taken);
    for (int i = 0; i < 2 * JOBS; i++)
        taken[i] = -1;
    for (int i = 0; i < n; i++)
        w[i] = 1.0 / n;
    for (int t = 0; t < SWEEPS; t++) {
        likelihoods(grid, du, dv, count, x, y, like, n);
        through_table(grid, du, dv, count, x, y, table, xn, n);
        weigh(w, like, n);
        scale(w, total(w, n), n);
        cumulate(c, w, n);
        for (int i = 0; i < n; i++)
            u[i] = t == 1 ? (i + 0.5) / n : 0.001 * (draw() % 1000); /* in order, or at random */
        resample(c, u, x, y, xn, yn, n);
        search(c, u, found, n);
        show_ints("search", found, n);
        bisect(c, u, found, n);
        show_ints("bisect", found, n);
        gather(found, x, y, xn, yn, n);
        show_reals("x", xn, n), show_reals("y", yn, n);
        memcpy(x, xn, JOBS * sizeof *x), memcpy(y, yn, JOBS * sizeof *y);
        marking(c, u, found, n);
        show_ints("marking", found, n);
        going_on(c, u, found, n);
        show_ints("going_on", found, n);
    }
    first_free(start, taken, n);
    show_ints("first_free", taken, 2 * n);
    show_reals("like", like, n);
    return 0;
}
