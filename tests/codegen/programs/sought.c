/* Searches in rows: what is found there is written, and moves with its row. */

/* Arrays that the shapes share: rows of `to`, and for each job a row and a number that stands in it. */
static int *row_, *to_, *at_, *by_;
static long *a_, *x_, *y_;

static void fresh(void)
{
    row_ = offsets(DATA, 5);
    to_ = ints(row_[DATA] + 1, DATA);
    a_ = longs(row_[DATA] + 1, 50);
    x_ = longs(DATA, 60);
    y_ = longs(DATA, 70);
    at_ = ints(JOBS, DATA);
    by_ = ints(JOBS, DATA);
    for (int c = 0; c < JOBS; c++) {
        while (row_[at_[c]] == row_[at_[c] + 1]) /* no empty one */
            at_[c] = (at_[c] + 1) % DATA;
        by_[c] = to_[row_[at_[c]] + c % (row_[at_[c] + 1] - row_[at_[c]])];
    }
}

/* A sweep over all rows, so that they are data of one scope. */
static void rest(long *restrict x, long *restrict y, const long *a, const int *row, const int *to)
{
    for (int v = 0; v < DATA; v++) {
        long sum = 0;
        for (int k = row[v]; k < row[v + 1]; k++)
            sum += a[k] * x[to[k]];
        y[v] = sum & 1023;
    }
    for (int v = 0; v < DATA; v++)
        x[v] += y[v] & 15;
}

static void told(const char *name)
{
    show(name, a_, row_[DATA] + 1);
    show(name, x_, DATA);
}

SHAPE inside(void) /* the search ends with what is done with it */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @inside
            for (int k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (to[k] == by[c]) {
                    a[k] += x[at[c]];
                    break;
                }
        rest(x, y, a, row, to);
    }
    told("inside");
}

SHAPE looked_up(void) /* what is found is only read */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_, *z = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @looked_up
            for (int k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (to[k] == by[c]) {
                    z[c] += a[k] * x[at[c]];
                    break;
                }
        rest(x, y, a, row, to);
    }
    show("looked_up", z, JOBS);
    told("looked_up");
}

SHAPE greater(void) /* it may find nothing: numbers are compared as numbers */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @greater
            for (int k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (to[k] > by[c]) {
                    a[k] += x[at[c]];
                    break;
                }
        rest(x, y, a, row, to);
    }
    told("greater");
}

SHAPE behind(void) /* what is found is used behind the loop */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) { // @behind
            int k;
            for (k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (to[k] == by[c])
                    break;
            a[k] += x[at[c]];
        }
        rest(x, y, a, row, to);
    }
    told("behind");
}

SHAPE sure(void) /* nobody asks where the row ends */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) { // @sure
            int k = row[at[c]];
            while (to[k] != by[c])
                k++;
            a[k] += x[at[c]];
        }
        rest(x, y, a, row, to);
    }
    told("sure");
}

static inline int entry(const int *row, const int *to, int u, int v)
{
    for (int k = row[u]; k < row[u + 1]; k++)
        if (to[k] == v)
            return k;
    return -1;
}

SHAPE asked(void) /* a function finds it, or says that it is not there */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    for (int c = 0; c < JOBS; c += 3)
        by[c] = DATA;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) { // @asked
            int k = entry(row, to, at[c], by[c]);
            if (k >= 0)
                a[k] += x[at[c]];
        }
        rest(x, y, a, row, to);
    }
    told("asked");
}

static inline int entry_of(const int *row, const int *to, int u, int v)
{
    for (int k = row[u]; k < row[u + 1]; k++)
        if (to[k] == v)
            return k;
    fprintf(stderr, "no entry %d in row %d\n", v, u);
    exit(1);
}

SHAPE fatal(void) /* the program ends where nothing is found */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @fatal
            a[entry_of(row, to, at[c], by[c])] += x[at[c]];
        rest(x, y, a, row, to);
    }
    told("fatal");
}

SHAPE both(void) /* two ends of one condition */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    for (int c = 0; c < JOBS; c += 4)
        by[c] = DATA;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) { // @both
            int k = row[at[c]];
            while (k < row[at[c] + 1] && to[k] != by[c])
                k++;
            if (k < row[at[c] + 1])
                a[k] += x[at[c]];
        }
        rest(x, y, a, row, to);
    }
    told("both");
}

SHAPE astray(void) /* where nothing is found, the first datum of the next row is meant */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    by[7] = DATA;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) { // @astray
            int k;
            for (k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (to[k] == by[c])
                    break;
            a[k] += x[at[c]];
        }
        rest(x, y, a, row, to);
    }
    told("astray");
}

SHAPE changing(void) /* what is looked for is made by the sweeps themselves */
{
    fresh();
    int *row = row_, *to = to_, *at = at_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @changing
            for (int k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (x[to[k]] > 40) {
                    a[k] += 3;
                    break;
                }
        rest(x, y, a, row, to);
    }
    told("changing");
}

SHAPE turned(void) /* something else is looked for in each sweep */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @turned
            for (int k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (to[k] == by[c]) {
                    a[k] += x[at[c]];
                    break;
                }
        by[t] = DATA - 1;
        rest(x, y, a, row, to);
    }
    told("turned");
}

SHAPE numbered(void) /* the place that is found is a number, too */
{
    fresh();
    int *row = row_, *to = to_, *at = at_, *by = by_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) { // @numbered
            int k = entry(row, to, at[c], by[c]);
            if (k >= 2)
                a[k] += x[at[c]];
        }
        rest(x, y, a, row, to);
    }
    told("numbered");
}

int main(void)
{
    inside();
    looked_up();
    greater();
    behind();
    sure();
    asked();
    fatal();
    both();
    astray();
    changing();
    turned();
    numbered();
    return 0;
}
