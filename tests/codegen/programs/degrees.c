/* Loops beside a sweep over rows that read two records of an array at a time: `row[i]` and `row[i + 1]`. */
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

int main(void)
{
    degrees();
    downwards();
    three_records();
    written();
    read_as_indices();
    return 0;
}
