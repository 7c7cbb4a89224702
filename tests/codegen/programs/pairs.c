/* Jobs that reach data through one or two indices. */
SHAPE pairs(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @pairs
            y[a[e]] += x[b[e]];
            y[b[e]] -= x[a[e]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 15;
    }
    show("pairs", x, DATA);
}

SHAPE pairs_real(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    double *w = reals(JOBS, 100), *x = reals(DATA, 100), *y = reals(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @pairs_real
            double f = w[e] * (x[b[e]] - x[a[e]]);
            y[a[e]] += f;
            y[b[e]] -= f;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += 1e-5 * y[v];
    }
    show_reals("pairs_real", x, DATA);
}

struct node { long h; double u; int mass; short kind; };
struct edge { short w; int a, b; unsigned char keep; };

SHAPE records(void)
{
    struct node *node = calloc(DATA, sizeof *node);
    struct edge *edge = calloc(JOBS, sizeof *edge);
    for (int v = 0; v < DATA; v++)
        node[v] = (struct node){draw() % 50, 0, (int)(draw() % 9), (short)(draw() % 3)};
    for (int e = 0; e < JOBS; e++)
        edge[e] = (struct edge){(short)(draw() % 9), (int)(draw() % DATA), (int)(draw() % DATA), draw() & 1};
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @records
            struct node *p = &node[edge[e].a], *q = &node[edge[e].b];
            if (edge[e].keep)
                p->h += edge[e].w * q->mass;
            q->h -= p->kind;
        }
        for (int v = 0; v < DATA; v++)
            node[v].mass += node[v].h & 3;
    }
    long sum = 0;
    for (int v = 0; v < DATA; v++)
        sum = sum * 31 + node[v].h;
    printf("records %ld\n", sum);
}

SHAPE counter_data(void)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 100), *mark = longs(JOBS, 3);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @counter_data
            y[a[e]] += x[a[e]] * e + (e % 7);
            mark[e] = e - a[e];
        }
    }
    show("counter_data", y, DATA);
    show("counter_data", mark, JOBS);
}

SHAPE start_and_step(void)
{
    int *a = ints(3 * JOBS + 7, DATA);
    long *y = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (long e = 7; e < 3 * JOBS; e += 3) // @start_and_step
            y[a[e]] += e;
    show("start_and_step", y, DATA);
}

SHAPE downwards(void)
{
    int *a = ints(JOBS, DATA);
    long *w = longs(JOBS, 100), *y = longs(DATA, 100), *z = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = JOBS - 1; e >= 0; e--) { // @downwards
            y[a[e]] += w[e] * e;
            z[e] += w[e];
        }
    show("downwards", y, DATA);
    show("downwards", z, JOBS);
}

SHAPE do_while(void)
{
    int *a = ints(JOBS, DATA);
    long *w = longs(JOBS, 100), *y = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        unsigned e = 0;
        do { // @do_while
            y[a[e]] += w[e];
            e++;
        } while (e < JOBS);
    }
    show("do_while", y, DATA);
}

SHAPE walking(void)
{
    int *a = ints(2 * JOBS, DATA);
    long *w = longs(JOBS, 100), *y = longs(DATA, 100), *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        const long *q = w;
        for (const int *p = a; p != a + 2 * JOBS; p += 2, q++) // @walking
            y[p[0]] += *q * x[p[1]];
        for (long *p = x; p < x + DATA; p++)
            *p += 1;
    }
    show("walking", y, DATA);
}

SHAPE inner_fixed(void)
{
    int *nb = ints(4 * JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @inner_fixed
            long s = 0;
            for (int j = 0; j < 4; j++)
                s += x[nb[4 * k + j]] * (j + 1) + k;
            y[k] += s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] ^= y[v] & 7;
    }
    show("inner_fixed", y, JOBS);
}

SHAPE inner_from_counter(void)
{
    int *nb = ints(4 * JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @inner_from_counter
            for (int j = 4 * k; j < 4 * k + 4; j++)
                y[k] += x[nb[j]] * j;
        for (int v = 0; v < DATA; v++)
            x[v] ^= y[v] & 7;
    }
    show("inner_from_counter", y, JOBS);
}

SHAPE triangle(void)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @triangle
            for (int j = 0; j < i; j++)
                y[i] += x[a[j]];
        for (int v = 0; v < DATA; v++)
            x[v]++;
    }
    show("triangle", y, JOBS);
}

SHAPE triangle_up(void)
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) // @triangle_up
            for (int j = i; j < JOBS; j++)
                y[i] += x[a[j]] * (j - i);
    show("triangle_up", y, JOBS);
}

SHAPE narrow_indices(void)
{
    unsigned char *a = bytes(JOBS, 100);
    short *b = shorts(JOBS, DATA);
    long *c = longs(JOBS, DATA), *x = longs(DATA, 100), *y = longs(DATA, 100);
    unsigned short *d = words(JOBS, DATA);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @narrow_indices
            x[a[e]] += e;
            x[b[e]] ^= 0;
            y[c[e]] += x[d[e]] & 0;
            y[d[e]] += b[e];
        }
    show("narrow_indices", x, DATA);
    show("narrow_indices", y, DATA);
}

SHAPE small_spaces(void)
{
    unsigned char *a = bytes(JOBS, 128);
    signed char *b = (signed char *)bytes(JOBS, 128);
    short *c = shorts(JOBS, DATA);
    long *x = longs(128, 100), *y = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @small_spaces
            x[a[e]] += b[e];
            y[c[e]] += x[b[e]] & 0;
        }
    }
    show("small_spaces", x, 128);
    show("small_spaces", y, DATA);
}

SHAPE mixed_widths(void) /* a narrow index must not get a number that it can not hold */
{
    unsigned char *a = bytes(JOBS, 100);
    int *b = ints(JOBS, 5000);
    long *x = longs(5000, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @mixed_widths
            x[a[e]] += e;
            x[b[e]] += 3 * e;
        }
    show("mixed_widths", x, 5000);
}

SHAPE high_bytes(void)
{
    unsigned char *a = bytes(JOBS, 250);
    unsigned short *b = words(JOBS, 40000);
    long *x = longs(256, 100), *y = longs(40000, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @high_bytes
            x[a[e]] += e;
            y[b[e]] += e;
        }
    show("high_bytes", x, 256);
    show("high_bytes", y, 40000);
}

SHAPE wrapping_index(void) /* 16-bit arithmetic on the way to one address, none on the way to the other */
{
    short *a = shorts(JOBS, 40);
    int *b = ints(JOBS, 3000);
    long *x = longs(40000, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @wrapping_index
            x[(short)(a[e] * 13)] += e;
            x[13 * b[e]] += 5;
        }
    show("wrapping_index", x, 40000);
}

SHAPE sentinel(void)
{
    int *a = ints(JOBS, DATA + 30);
    for (int e = 0; e < JOBS; e++)
        if (a[e] >= DATA)
            a[e] = -1;
    long *x = longs(DATA, 100), *y = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @sentinel
            if (a[e] == -1)
                continue;
            y[a[e]] += x[a[e]] + e;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 1;
    }
    show("sentinel", y, DATA);
}

SHAPE index_data(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), *last = ints(DATA, 5);
    long *x = longs(DATA, 100), *y = longs(JOBS, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @index_data
            if (a[e] < b[e])
                y[e] += x[a[e]] * b[e];
            else if (a[e] == b[e])
                y[e] ^= a[e];
            else
                y[e] -= x[b[e]] % (a[e] + 1);
        }
        for (int v = 0; v < DATA; v++)
            x[v] += last[v];
    }
    show("index_data", y, JOBS);
}

SHAPE index_bound(void) /* one value is index and trip count at once */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 100), *w = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @index_bound
            int c = a[e];
            long s = 0;
            for (int j = 0; j < c; j++)
                s += w[j] * (j + 1);
            y[e] += s * x[c];
        }
        for (int v = 0; v < DATA; v++)
            x[v]++;
    }
    show("index_bound", y, JOBS);
}

SHAPE stored_index(void)
{
    int *a = permutation(DATA), *seen = ints(DATA, 2);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < DATA; e++) { // @stored_index
            seen[a[e]] = a[e] + e;
            x[a[e]] = e;
        }
    show_ints("stored_index", seen, DATA);
    show("stored_index", x, DATA);
}

SHAPE flagged(void)
{
    int *a = ints(JOBS, DATA);
    bool *on = (bool *)bytes(JOBS, 2);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @flagged
            if (on[e])
                x[a[e]] += e;
    show("flagged", x, DATA);
}

SHAPE two_distances(void)
{
    int *a = ints(JOBS, DATA - 2);
    long *x = longs(DATA, 100), *y = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @two_distances
            y[a[e] + 1] += x[a[e]] + x[a[e] + 2];
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 1;
    }
    show("two_distances", y, DATA);
}

SHAPE strided(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(3 * DATA, 100), *y = longs(3 * DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @strided
            for (int c = 0; c < 3; c++)
                y[3 * a[e] + c] += x[3 * b[e] + 2 - c] + c;
        for (int i = 0; i < 3 * DATA; i++)
            x[i] += y[i] & 1;
    }
    show("strided", y, 3 * DATA);
}

SHAPE interior(void) /* pointers into the middle of one allocation */
{
    int *a = ints(JOBS, DATA);
    long *block = longs(3 * DATA, 100), *x = block, *y = block + DATA, *z = block + 2 * DATA;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @interior
            z[a[e]] += x[a[e]];
        for (int v = 0; v < DATA; v++)
            y[v] += z[v];
    }
    show("interior", block, 3 * DATA);
}

SHAPE split_fields(void) /* fields of one array of records that are reached over different parts of it */
{
    int *a = ints(JOBS, 50), *b = ints(JOBS, 60);
    long *x = longs(220, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @split_fields
            x[2 * a[e]] += e;
            x[2 * (b[e] + 49) + 1] += 7;
        }
    show("split_fields", x, 220);
}

SHAPE sum_of_some_numbers(void) /* of iterations and of indices: the old ones, in a register that only sums hold */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    unsigned sum = 0, others = 0;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @sum_of_some_numbers
            y[a[e]] += 3;
            if (x[b[e]] > 50)
                sum += (unsigned)e * (unsigned)e;
            others += x[a[e]] > 20 ? (unsigned)b[e] : 1;
        }
    show("sum_of_some_numbers", y, DATA);
    printf("%u %u\n", sum, others);
}

int main(void)
{
    sum_of_some_numbers();
    pairs(), pairs_real(), records(), counter_data(), start_and_step(), downwards(), do_while(), walking();
    inner_fixed(), inner_from_counter(), triangle(), triangle_up(), narrow_indices(), small_spaces();
    mixed_widths(), high_bytes(), wrapping_index(), sentinel(), index_data(), index_bound(), stored_index();
    flagged(), two_distances(), strided(), interior(), split_fields();
    return 0;
}
