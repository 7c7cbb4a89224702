/* Flags that iterations set, and ends of loops that lie in memory. */
SHAPE flags(void) /* one that some iterations set, one that some clear, one that sweeps may leave alone */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9), seen = 0;
    for (int t = 0; t < SWEEPS; t++) {
        int changed = 0;
        bool calm = true, odd = false;
        for (int e = 0; e < JOBS; e++) { // @flags
            y[e] += x[a[e]];
            if (y[e] % 37 == t)
                changed = 7;
            if (x[b[e]] > 95)
                calm = false;
            if (y[e] < t)
                odd = true;
        }
        seen = seen * 16 + changed + 8 * calm + 4 * odd;
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("flags", &seen, 1);
    show("flags", x, DATA);
}

SHAPE flag_of_rows(void) /* set by the elements of a row, until the first of them does */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9), rounds = 0;
    bool changed = true;
    while (changed && rounds < 5) {
        changed = false;
        for (int i = 0; i < JOBS; i++) { // @flag_of_rows
            long least = y[i];
            for (int j = rp[i]; j < rp[i + 1]; j++)
                if (x[col[j]] < least) {
                    least = x[col[j]];
                    changed = true;
                }
            y[i] = least;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += rounds - 3;
        rounds++;
    }
    show("flag_of_rows", &rounds, 1);
    show("flag_of_rows", y, JOBS);
}

SHAPE last_flag(void) /* what is left depends on which iteration comes last */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        int state = 0;
        for (int e = 0; e < JOBS; e++) { // @last_flag
            y[e] += x[a[e]];
            if (y[e] % 37 == t)
                state = 7;
            if (y[e] % 31 == t)
                state = 0;
        }
        x[t] += state;
    }
    show("last_flag", y, JOBS);
}

SHAPE flag_that_is_read(void)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        int late = 0;
        for (int e = 0; e < JOBS; e++) { // @flag_that_is_read
            y[e] += x[a[e]] + late;
            if (y[e] % 97 == t)
                late = 1;
        }
    }
    show("flag_that_is_read", y, JOBS);
}

SHAPE sweeps_begin(int n, const int *a, long *y) /* nothing stands between a sweep and the loop that it begins with */
{
    long *x = longs(DATA, 100);
    bool changed;
    do {
        changed = false;
        for (int e = 0; e < n; e++) // @sweeps_begin
            if (y[e] < 1000)
                y[e] += x[a[e]];
        for (int v = 0; v < DATA; v++)
            if (x[v] > 0) {
                x[v] -= 40;
                changed = true;
            }
    } while (changed);
    show("sweeps_begin", y, n);
}

SHAPE sweeps_in_order(int n, const int *a, long *y) /* the same, where an iteration reads what others wrote */
{
    bool changed;
    do {
        changed = false;
        for (int e = 0; e < n; e++) // @sweeps_in_order
            y[e] += 1 + (y[a[e]] & 7);
        for (int e = 0; e < n; e++)
            if (y[e] < 100)
                changed = true;
    } while (changed);
    show("sweeps_in_order", y, n);
}

struct list {
    int n, fewer;
    int *a, *y;
};

static struct list *list(int fewer)
{
    struct list *p = malloc(sizeof *p + 4096); // nothing begins close behind an address of a member
    *p = (struct list){JOBS, fewer, ints(JOBS, DATA), ints(DATA, 9)};
    return p;
}

SHAPE end_in_memory(struct list *p, const int *x) /* for all that the compiler knows a store changes it */
{
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < p->n; e++) // @end_in_memory
            p->y[p->a[e]] += x[e];
    show_ints("end_in_memory", p->y, DATA);
}

SHAPE end_that_moves(struct list *p, const int *x, int *end) /* a store may well change it */
{
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < p->n; e++) { // @end_that_moves
            p->y[p->a[e]] += x[e];
            *end -= p->fewer;
        }
    show_ints("end_that_moves", p->y, DATA);
}

SHAPE end_beside(struct list *p, const int *x, int *end) /* where that store goes another run decides */
{
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < p->n; e++) { // @end_beside
            p->y[p->a[e]] += x[e];
            *end -= p->fewer;
        }
    show_ints("end_beside", p->y, DATA);
}

SHAPE end_between(struct list *p, const int *x) /* it changes from sweep to sweep */
{
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < p->n; e++) // @end_between
            p->y[p->a[e]] += x[e];
        p->n = JOBS - 3 * (t + 1);
    }
    show_ints("end_between", p->y, DATA);
}

SHAPE end_among_data(int *y, const int *a, const int *x) /* in the array that is written */
{
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < y[DATA]; e++) // @end_among_data
            y[a[e]] += x[e];
    show_ints("end_among_data", y, DATA);
}

int main(int argc, char **argv)
{
    (void)argv;
    flags(), flag_of_rows(), last_flag(), flag_that_is_read();
    int *x = ints(JOBS, 100), *a = ints(JOBS, DATA), *y = ints(DATA + 1, 9);
    struct list *moving = list(0), *beside = list(argc > 1);
    y[DATA] = JOBS;
    sweeps_begin(JOBS, a, longs(JOBS, 9));
    sweeps_in_order(JOBS, a, longs(JOBS, 9));
    end_in_memory(list(0), x);
    end_that_moves(moving, x, &moving->n);
    end_beside(beside, x, argc > 1 ? &beside->n : ints(1, 9));
    end_between(list(0), x);
    end_among_data(y, a, x);
    return 0;
}
