/* Two levels of indices, indices that others use, buffers that swap, and what surrounds a region in its scope. */
SHAPE two_levels(void)
{
    int *a = ints(JOBS, 300), *map = ints(300, DATA);
    long *x = longs(DATA, 100), *y = longs(300, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @two_levels
            x[map[a[e]]] += e;
            y[a[e]] += 3;
        }
    show("two_levels", x, DATA);
    show("two_levels", y, 300);
}

SHAPE two_levels_alone(void)
{
    int *a = ints(JOBS, 300), *map = ints(300, DATA);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @two_levels_alone
            x[map[a[e]]] += e;
    show("two_levels_alone", x, DATA);
}

SHAPE two_ways_to_a_map(void) /* one index of the map may change, the other may not */
{
    int *a = ints(JOBS, 300), *b = ints(JOBS, 300), *map = ints(300, DATA);
    long *x = longs(DATA, 100), *y = longs(300, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @two_ways_to_a_map
            x[map[a[e]]] += e;
            x[map[b[e]]] += 2 * e;
            y[a[e]] += 3;
        }
        for (int e = 0; e < JOBS; e++)
            b[e] = (b[e] + 7) % 300;
    }
    show("two_ways_to_a_map", x, DATA);
    show("two_ways_to_a_map", y, 300);
}

SHAPE same_space(void) /* a map from data to data */
{
    int *a = ints(JOBS, DATA), *next = permutation(DATA);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @same_space
            x[a[e]] += e;
            x[next[a[e]]] += 5;
        }
    show("same_space", x, DATA);
}

SHAPE index_in_companion(void) /* another loop reads the index array beside the data that it walks */
{
    int *a = ints(DATA, DATA);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < DATA; e++) // @index_in_companion
            x[a[e]] += e;
        for (int v = 0; v < DATA; v++)
            x[v] += 3 * a[v];
    }
    show("index_in_companion", x, DATA);
}

SHAPE index_of_another_loop(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *z = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @index_of_another_loop
            y[a[e]] += x[b[e]];
        for (int e = 0; e < JOBS; e++) // @gathering
            z[e] += x[a[e]] - y[b[e]];
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 1;
    }
    show("index_of_another_loop", z, JOBS);
}

SHAPE moving_indices(void) /* the index array changes between two sweeps */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @moving_indices
            x[a[e]] += e;
        for (int e = 0; e < JOBS; e++)
            a[e] = (a[e] * 7 + t) % DATA;
    }
    show("moving_indices", x, DATA);
}

SHAPE histogram(void)
{
    int *a = ints(JOBS, DATA), *count = calloc(DATA, sizeof *count);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @histogram
            count[a[e]]++;
    show_ints("histogram", count, DATA);
}

SHAPE gather(void)
{
    int *a = permutation(JOBS);
    long *x = longs(JOBS, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @gather
            y[e] = x[a[e]] + 1;
        for (int e = 0; e < JOBS; e++)
            x[e] = 3 * y[e];
    }
    show("gather", x, JOBS);
}

SHAPE recurrence(void) /* unordered jobs beside ordered ones on the same data */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @recurrence
            y[a[e]] += x[b[e]];
        for (int e = 0; e < JOBS; e++) // @ordered
            x[a[e]] = (x[a[e]] * 3 + x[b[e]]) % 1000;
    }
    show("recurrence", x, DATA);
    show("recurrence", y, DATA);
}

SHAPE swapping_weights(void)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *w = longs(JOBS, 9), *other = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @swapping_weights
            x[a[e]] += w[e];
        long *s = w;
        w = other;
        other = s;
    }
    show("swapping_weights", x, DATA);
}

SHAPE swapping_indices(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @swapping_indices
            x[a[e]] += e;
        int *s = a;
        a = b;
        b = s;
    }
    show("swapping_indices", x, DATA);
}

SHAPE swapping_data(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++)
            y[v] = 2 * x[v];
        for (int e = 0; e < JOBS; e++) // @swapping_data
            y[a[e]] += x[b[e]] & 7;
        long *s = x;
        x = y;
        y = s;
    }
    show("swapping_data", x, DATA);
    show("swapping_data", y, DATA);
}

SHAPE swapping_and_kept(void) /* one of two buffers that swap is also read in a way that nobody understands */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *first = x, sum = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++)
            y[v] = 2 * x[v];
        for (int e = 0; e < JOBS; e++) // @swapping_and_kept
            y[a[e]] += x[b[e]] & 7;
        sum += first[5 * t + 3];
        long *s = x;
        x = y;
        y = s;
    }
    show("swapping_and_kept", x, DATA);
    printf("swapping_and_kept %ld\n", sum);
}

SHAPE chosen_arrays(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    bool *left = (bool *)bytes(JOBS, 2);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *u = longs(JOBS, 9), *v = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @chosen_arrays
            int i = left[e] ? a[e] : b[e];
            long *where = left[e] ? x : y;
            const long *w = left[e] ? u : v;
            where[i] += w[e];
        }
    show("chosen_arrays", x, DATA);
    show("chosen_arrays", y, DATA);
}

SHAPE chosen_once(void) /* read-only arrays, by a choice that is the same for all jobs of a sweep */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *u = longs(JOBS, 9), *v = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        const long *w = t % 2 ? u : v;
        for (int e = 0; e < JOBS; e++) // @chosen_once
            x[a[e]] += w[e];
    }
    show("chosen_once", x, DATA);
}

struct mesh { int n, *a; long *x, *y; };

SHAPE members(void) /* pointers that are loaded in the loop, because stores might change them */
{
    struct mesh *m = malloc(sizeof *m);
    *m = (struct mesh){JOBS, ints(JOBS, DATA), longs(DATA, 9), longs(DATA, 9)};
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < m->n; e++) // @members
            m->y[m->a[e]] += m->x[m->a[e]] + e;
        for (int v = 0; v < DATA; v++)
            m->x[v] += m->y[v] & 1;
    }
    show("members", m->y, DATA);
}

SHAPE middle_loop(void) /* the region runs several times in each iteration of the scope */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int c = 0; c < 4; c++) {
            for (int e = 0; e < JOBS; e++) // @middle_loop
                y[a[e]] += x[a[e]] + c;
            printf("middle_loop %ld\n", y[0]);
        }
    show("middle_loop", y, DATA);
}

SHAPE varying_length(void) /* the number of jobs differs from sweep to sweep */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), *n = malloc(SWEEPS * sizeof *n);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        n[t] = JOBS - 100 * t;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @steady
            y[a[e]] += x[b[e]];
        for (int e = 0; e < n[t]; e++) // @varying_length
            x[b[e]] += y[a[e]] & 3;
    }
    show("varying_length", y, DATA);
}

SHAPE pointer_difference(void) /* the job's number is how far a pointer came */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(JOBS, 100), *y = longs(DATA, 9);
    volatile int length = JOBS;
    for (int t = 0; t < SWEEPS; t++)
        for (const int *p = a, *stop = a + length; p != stop; p++) // @pointer_difference
            if (*p % 3 != 0) {
                int e = (int)(p - a);
                y[*p] += 3 * e + x[e];
            }
    show("pointer_difference", y, DATA);
}

int main(void)
{
    two_levels(), two_levels_alone(), two_ways_to_a_map(), same_space(), index_in_companion();
    index_of_another_loop(), moving_indices(), histogram(), gather(), recurrence(), swapping_weights();
    swapping_indices(), swapping_data(), swapping_and_kept(), chosen_arrays(), chosen_once();
    members(), middle_loop(), varying_length(), pointer_difference();
    return 0;
}
