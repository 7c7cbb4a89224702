/* Two numbers in a row that are subtracted: `row[i]` and `row[i + 1]`, in loops beside a sweep over rows, and picked by
   an index inside of it. */
#define NEAR 3
#define GIVEN                                                                                                         \
    int *col = ints(NEAR * DATA, DATA), *row = malloc((DATA + 1) * sizeof *row);                                      \
    long *x = longs(DATA, 1000), *y = longs(DATA, 1000);                                                              \
    row[0] = 0;                                                                                                       \
    for (int i = 0; i < DATA; i++)                                                                                    \
        row[i + 1] = row[i] + 1 + i % NEAR
#define SWEEP                                                                                                         \
    for (int e = row[i]; e < row[i + 1]; e++)                                                                         \
    y[i] += x[col[e]] & 255

SHAPE degrees(void)
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @degrees
            SWEEP;
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] * (row[i + 1] - row[i]) & 1023;
    }
    show("degrees", x, DATA);
}

SHAPE downwards(void)
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @downwards
            SWEEP;
        for (int i = DATA - 1; i >= 0; i--)
            x[i] = y[i] * (row[i + 1] - row[i]) & 1023;
    }
    show("downwards", x, DATA);
}

SHAPE three_records(void) /* more than two: they are read where they are */
{
    GIVEN;
    int *w = ints(DATA + 2, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @three_records
            SWEEP;
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] * (w[i + 2] - w[i + 1] + w[i]) & 1023;
    }
    show("three_records", x, DATA);
}

SHAPE written(void) /* and these change */
{
    GIVEN;
    int *w = ints(DATA + 1, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @written
            SWEEP;
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] * (w[i + 1] - w[i]) & 1023;
        for (int i = 0; i <= DATA; i++)
            w[i] ^= t + i;
    }
    show("written", x, DATA);
}

SHAPE read_as_indices(void) /* what stands in it is an index, too */
{
    GIVEN;
    int *at = ints(DATA + 1, DATA);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @read_as_indices
            SWEEP;
        for (int i = 0; i < DATA; i++)
            y[i] += x[at[i]] + (at[i + 1] & 7);
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] & 1023;
    }
    show("read_as_indices", x, DATA);
}

SHAPE picked(void) /* how many neighbours each neighbour has: rows that are only read, picked by an index */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @picked
            for (int e = row[i]; e < row[i + 1]; e++) {
                int u = col[e];
                y[i] += (x[u] + i) / (row[u + 1] - row[u]) & 255;
            }
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] * (row[i + 1] - row[i]) & 1023;
    }
    show("picked", x, DATA);
}

SHAPE by_edges(void) /* a loop over edges asks for the lengths of two rows, and whether one is empty */
{
    GIVEN;
    int *from = ints(JOBS, DATA), *to = ints(JOBS, DATA);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @by_edges
            for (int e = row[i]; e < row[i + 1]; e++)
                y[i] += x[col[e]] / (row[col[e] + 1] - row[col[e]]) & 255;
        for (int j = 0; j < JOBS; j++)
            if (row[from[j] + 1] != row[from[j]])
                y[to[j]] += (x[from[j]] & 127) * (row[to[j] + 1] - row[to[j]]);
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] & 1023;
    }
    show("by_edges", x, DATA);
}

SHAPE two_rows(void) /* how long two rows are together is not known of one */
{
    GIVEN;
    row = realloc(row, (DATA + 2) * sizeof *row);
    row[DATA + 1] = row[DATA];
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @two_rows
            for (int e = row[i]; e < row[i + 1]; e++)
                y[i] += x[col[e]] * (row[col[e] + 2] - row[col[e]]) & 255;
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] & 1023;
    }
    show("two_rows", x, DATA);
}

SHAPE numbers(void) /* where a row begins is a number, too */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @numbers
            for (int e = row[i]; e < row[i + 1]; e++)
                y[i] += x[col[e]] * (row[col[e] + 1] - row[col[e]]) + (row[col[e]] & 3);
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] & 1023;
    }
    show("numbers", x, DATA);
}

SHAPE apart(void) /* indices, not bounds: how far they are apart is told by the old numbers */
{
    GIVEN;
    int *at = ints(DATA + 1, DATA);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @apart
            y[i] += x[at[i]] + (at[i + 1] - at[i]);
        for (int i = 0; i < DATA; i++)
            for (int e = row[i]; e < row[i + 1]; e++)
                y[i] ^= x[at[col[e]]] * (at[col[e] + 1] > at[col[e]]);
        for (int i = 0; i < DATA; i++)
            x[i] = y[i] & 1023;
    }
    show("apart", x, DATA);
}

int main(void)
{
    degrees();
    downwards();
    three_records();
    written();
    read_as_indices();
    picked();
    by_edges();
    two_rows();
    numbers();
    apart();
    return 0;
}
