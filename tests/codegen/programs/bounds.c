
/* Indices and counters that decide how far an inner loop runs, or whether it is left: by their old numbers, whatever
   order the data have. Only where a piece of an array begins and ends may follow the order, and only of that piece. */
static volatile int known_[] = {190, 2, 3, 77};
enum { NOWHERE_, TWO, THREE, MIDDLE };

SHAPE stops_at_an_index(void) /* one that no iteration has, but that a new number may be */
{
    int *a = ints(JOBS, DATA), *b = ints(4 * JOBS, 150), stop = known_[NOWHERE_];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @stops_at_an_index
            for (int k = 0; k < 4; k++) {
                if (b[4 * e + k] == stop)
                    break;
                y[a[e]] += x[b[4 * e + k]] + x[a[e]];
            }
    show("stops_at_an_index", y, DATA);
}

SHAPE stops_at_a_bit(void)
{
    int *a = ints(JOBS, 30), *b = ints(4 * JOBS, 20), stop = 1 << (known_[TWO] + 25);
    long *x = longs(30, 100), *y = longs(30, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @stops_at_a_bit
            for (int k = 0; k < 4; k++) {
                if (1 << b[4 * e + k] == stop)
                    break;
                y[a[e]] += x[b[4 * e + k]] + x[a[e]];
            }
    show("stops_at_a_bit", y, 30);
}

SHAPE stops_at_the_index_of_the_job(void)
{
    int *a = ints(JOBS, DATA), *b = ints(4 * JOBS, DATA), *c = ints(JOBS, 150), stop = known_[NOWHERE_];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @stops_at_the_index_of_the_job
            for (int k = 0; k < 4; k++) {
                if (c[e] + k == stop)
                    break;
                y[a[e]] += x[b[4 * e + k]] + x[c[e]];
            }
    show("stops_at_the_index_of_the_job", y, DATA);
}

SHAPE stops_at_a_counter(void) /* which has no turn, as a flag says */
{
    int *a = ints(JOBS, DATA), *b = ints(4 * JOBS, DATA), *flag = ints(JOBS, 1), stop = known_[MIDDLE];
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *w = longs(JOBS, 100);
    for (int e = 0; e < JOBS; e++)
        flag[e] = e != stop;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @stops_at_a_counter
            if (flag[e])
                for (int k = 0; k < 4; k++) {
                    y[a[e]] += x[b[4 * e + k]] + w[e];
                    if (e == stop)
                        break;
                }
    show("stops_at_a_counter", y, DATA);
}

SHAPE two_to_the_index(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, 6);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @two_to_the_index
            for (int j = 0; j < 1 << b[e]; j++)
                y[a[e]] += x[b[e]] * j + x[a[e]];
    show("two_to_the_index", y, DATA);
}

SHAPE as_far_as_an_index(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, 50);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @as_far_as_an_index
            for (int j = 0; j < b[e]; j++)
                y[a[e]] += x[b[e]] * j + x[a[e]];
    show("as_far_as_an_index", y, DATA);
}

/* Pieces of `w` are copied in the order of the jobs, and their starts and ends are other numbers in the copy. */
struct pieces {
    int *first, *last, *col;
    long *x, *y, *w;
};

static struct pieces pieces(void)
{
    int *row = offsets(DATA, 4), *first = malloc(DATA * sizeof *first), *last = malloc(DATA * sizeof *last);
    struct pieces p = {first, last, ints(row[DATA] + 1, DATA), longs(DATA, 100), longs(DATA, 9), longs(row[DATA] + 1, 100)};
    for (int v = 0; v < DATA; v++) {
        first[v] = row[v];
        last[v] = row[v + 1];
    }
    return p;
}

SHAPE start_as_far(void)
{
    struct pieces p = pieces();
    int *first = p.first, *last = p.last, *col = p.col;
    long *x = p.x, *y = p.y, *w = p.w;
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @start_as_far
            for (int k = first[v]; k < last[v]; k++)
                y[v] += w[k] * x[col[k]];
            for (int k = 0; k < (first[v]); k++)
                y[v] += k ^ t;
        }
    show("start_as_far", y, DATA);
}

SHAPE low_bits_of_a_start(void)
{
    struct pieces p = pieces();
    int *first = p.first, *last = p.last, *col = p.col;
    long *x = p.x, *y = p.y, *w = p.w;
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @low_bits_of_a_start
            for (int k = first[v]; k < last[v]; k++)
                y[v] += w[k] * x[col[k]];
            for (int k = 0; k < (first[v] & 3); k++)
                y[v] += k ^ t;
        }
    show("low_bits_of_a_start", y, DATA);
}

SHAPE two_to_a_start(void)
{
    struct pieces p = pieces();
    int *first = p.first, *last = p.last, *col = p.col;
    long *x = p.x, *y = p.y, *w = p.w;
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @two_to_a_start
            for (int k = first[v]; k < last[v]; k++)
                y[v] += w[k] * x[col[k]];
            for (int k = 0; k < (1 << (first[v] & 3)); k++)
                y[v] += k ^ t;
        }
    show("two_to_a_start", y, DATA);
}

SHAPE shifted_start(void)
{
    struct pieces p = pieces();
    int *first = p.first, *last = p.last, *col = p.col, by = known_[TWO];
    long *x = p.x, *y = p.y, *w = p.w;
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @shifted_start
            for (int k = first[v]; k < last[v]; k++)
                y[v] += w[k] * x[col[k]];
            for (int k = 0; k < (first[v] >> by); k++)
                y[v] += k ^ t;
        }
    show("shifted_start", y, DATA);
}

SHAPE square_of_an_end(void)
{
    struct pieces p = pieces();
    int *first = p.first, *last = p.last, *col = p.col;
    long *x = p.x, *y = p.y, *w = p.w;
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @square_of_an_end
            for (int k = first[v]; k < last[v]; k++)
                y[v] += w[k] * x[col[k]];
            for (int k = 0; k < (last[v] * last[v] & 31); k++)
                y[v] += k ^ t;
        }
    show("square_of_an_end", y, DATA);
}

SHAPE rest_of_a_start(void)
{
    struct pieces p = pieces();
    int *first = p.first, *last = p.last, *col = p.col;
    long *x = p.x, *y = p.y, *w = p.w;
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @rest_of_a_start
            for (int k = first[v]; k < last[v]; k++)
                y[v] += w[k] * x[col[k]];
            for (int k = 0; k < (first[v] % 5); k++)
                y[v] += k ^ t;
        }
    show("rest_of_a_start", y, DATA);
}

int main(void)
{
    stops_at_an_index();
    stops_at_a_bit();
    stops_at_the_index_of_the_job();
    stops_at_a_counter();
    two_to_the_index();
    as_far_as_an_index();
    start_as_far();
    low_bits_of_a_start();
    two_to_a_start();
    shifted_start();
    square_of_an_end();
    rest_of_a_start();
    return 0;
}
