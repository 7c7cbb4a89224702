/* One function, many inputs: the first argument says what differs from the input that is traced. */
static bool is(const char *mode, const char *name) { return strcmp(mode, name) == 0; }

SHAPE update(long n, const int *a, const int *b, const bool *on, long stride, long scale, long *x, long *y)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (long e = 0; e < n; e++) // @update
            if (on[e])
                y[stride * a[e]] += scale * x[b[e]] + e;
        for (long v = 0; v < DATA; v++)
            x[v] += t;
    }
}

SHAPE decided(long n, const int *a, const int *b, const double *gate, const long *x, long *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long e = 0; e < n; e++) // @decided
            if (gate[e] > 0.5)
                y[a[e]] = 3 * x[b[e]] + e;
}

SHAPE rows_of(long n, const int *rp, const int *col, const long *x, long *y)
{
    for (int t = 0; t < SWEEPS; t++)
        for (long i = 0; i < n; i++) // @rows_of
            for (int j = rp[i]; j < rp[i + 1]; j++)
                y[i] += x[col[j]] * 3;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "same";
    long n = JOBS, stride = 2, scale = 3, room = is(mode, "longer") ? 4 * DATA : 3 * DATA + 16;
    int *a = ints(JOBS + 1, DATA), *b = ints(JOBS + 1, DATA), *rp = offsets(JOBS, 5), *col = ints(6 * JOBS, DATA);
    bool *on = (bool *)bytes(JOBS, 2);
    long *block = longs(3 * DATA + 16, 100), *x = block, *y = longs(room, 9), *z = longs(room, 9);
    long *own = longs(JOBS, 9);
    int *first = ints(JOBS, DATA);
    double *gate = reals(JOBS, 2);
    on[77] = on[JOBS - 1] = true;
    for (int e = 0; e < JOBS; e++) /* the last of those that write one place is the only one that does */
        for (int other = e + 1; other < JOBS; other++)
            if (first[other] == first[e])
                gate[e] = 0;
    if (is(mode, "index"))
        a[77] = (a[77] + 1) % DATA;
    if (is(mode, "last-index"))
        a[JOBS - 1] = (a[JOBS - 1] + 5) % DATA;
    if (is(mode, "shorter"))
        n--;
    if (is(mode, "stride"))
        stride = 1;
    if (is(mode, "scale"))
        scale = 1000;
    if (is(mode, "flag"))
        on[300] = !on[300];
    if (is(mode, "data"))
        x[3] += 12345;
    if (is(mode, "alias"))
        y = block;
    if (is(mode, "interior"))
        x = block + 8;
    if (is(mode, "one-index-array"))
        b = a;
    if (is(mode, "shifted-index"))
        a++;
    if (is(mode, "gate"))
        for (int e = 0; e < JOBS; e++)
            if (gate[e] == 0 && first[e] == first[JOBS - 1])
                gate[e] = 1;
    if (is(mode, "gate-value")) /* another number, the same decision */
        for (int e = 0; e < JOBS; e++)
            gate[e] = gate[e] > 0.5 ? gate[e] + 7 : gate[e];
    if (is(mode, "row"))
        rp[5]++;
    if (is(mode, "column"))
        col[rp[JOBS] - 1] = (col[rp[JOBS] - 1] + 1) % DATA;
    if (is(mode, "column-beyond")) /* behind the last row: nobody reads it */
        col[rp[JOBS]] = 1;
    update(n, a, b, on, stride, scale, x, y);
    decided(n, first, b, gate, x, z);
    show("update", y, 2 * DATA);
    show("x", block, 3 * DATA);
    show("decided", z, DATA);
    rows_of(n, rp, col, x, own);
    show("rows_of", own, JOBS);
    return 0;
}
