/* Local arrays of the body, whole ones and records, and pointers that choose between them and the program's data. */
SHAPE local_array(void)
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @local_array
            long part[8];
            for (int c = 0; c < 8; c++)
                part[c] = x[a[e]] * c + e;
            part[k[e]] ^= 5;
            y[a[e]] += part[(k[e] + 3) & 7] + part[k[e]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("local_array", y, DATA);
}

SHAPE own_rows(void) /* a local array, and a record of its own for each job: threads need no slots */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 4);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @own_rows
            long part[4] = {1, 2, 3, 4};
            for (int c = 0; c < 4; c++)
                part[(c * k[e]) & 3] += x[a[e]] + c;
            y[e] += part[k[e]] * e;
        }
        for (int v = 0; v < DATA; v++)
            x[v]++;
    }
    show("own_rows", y, JOBS);
}

SHAPE local_in_rows(void) /* born in the inner loop, and a second one around it */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA), *k = ints(JOBS, 4);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @local_in_rows
            long outer[4] = {0};
            for (int j = rp[i]; j < rp[i + 1]; j++) {
                long inner[4];
                for (int c = 0; c < 4; c++)
                    inner[c ^ (k[i] & 1)] = x[col[j]] + c;
                outer[k[i]] += inner[k[i]];
            }
            y[i] += outer[k[i]] + 2 * outer[k[i] ^ 1];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v % JOBS] & 1;
    }
    show("local_in_rows", y, JOBS);
}

SHAPE outliving_array(void) /* declared outside: what one iteration leaves behind, the next one sees */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[8] = {0};
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @outliving_array
            part[k[e]] += x[a[e]];
            y[a[e]] += part[(k[e] + 1) & 7];
        }
    show("outliving_array", y, DATA);
}

SHAPE scratch(void) /* declared outside, and filled anew by every iteration */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[8] = {5}, pair[2];
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @scratch
            for (int c = 7; c >= 0; c--)
                part[c] = x[a[e]] * c + e;
            memset(pair, 0, sizeof pair);
            pair[k[e] & 1] += x[a[e]];
            part[k[e]] ^= 5;
            y[a[e]] += part[(k[e] + 3) & 7] + part[k[e]] + pair[0] - 2 * pair[1];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("scratch", y, DATA);
}

SHAPE scratch_table(void) /* filled by a loop in a loop, or in each column by a line of its own */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 3);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[3][4] = {{5}}, sides[3][3];
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @scratch_table
            for (int r = 0; r < 3; r++)
                for (int c = 3; c >= 0; c--)
                    part[r][c] = x[a[e]] * c + e + r;
            part[k[e]][k[e] + 1] ^= 5;
            for (int r = 0; r < 3; r++) {
                sides[r][0] = part[r][0] - e;
                sides[r][2] = part[r][1] - k[e];
                sides[r][1] = part[r][2] - r;
            }
            y[a[e]] += part[2 - k[e]][k[e]] + part[k[e]][3] + sides[k[e]][2 - k[e]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("scratch_table", y, DATA);
}

SHAPE table_with_gaps(void) /* columns in between are what another iteration left */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 4);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[4][7] = {{5}};
    for (int e = 0; e < JOBS; e++) { // @table_with_gaps
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 7; c += 3)
                part[r][c] = x[a[e]] * c + e + r;
        y[a[e]] += part[3 - k[e]][k[e]];
        part[3 - k[e]][k[e]] = e;
    }
    show("table_with_gaps", y, DATA);
}

SHAPE table_of_some(void) /* rows that an iteration does not fill are what another one left */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 4);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[4][4] = {{5}};
    for (int e = 0; e < JOBS; e++) { // @table_of_some
        for (int r = 0; r < 4; r++)
            if (a[e] & 1 << r)
                for (int c = 0; c < 4; c++)
                    part[r][c] = x[a[e]] * c + e + r;
        y[a[e]] += part[3 - k[e]][k[e]];
    }
    show("table_of_some", y, DATA);
}

SHAPE table_read_between(void) /* a row is read before the next one is filled */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 4);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[4][4] = {{5}};
    for (int e = 0; e < JOBS; e++) // @table_read_between
        for (int r = 0; r < 4; r++) {
            for (int c = 0; c < 4; c++)
                part[r][c] = x[a[e]] * c + e + r;
            y[a[e]] += part[3 - r][k[e]];
        }
    show("table_read_between", y, DATA);
}

SHAPE half_filled(void) /* the last element is what another iteration left */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[8] = {5};
    for (int e = 0; e < JOBS; e++) { // @half_filled
        for (int c = 0; c < 7; c++)
            part[c] = x[a[e]] * c + e;
        y[a[e]] += part[k[e]];
        part[k[e]] = e;
    }
    show("half_filled", y, DATA);
}

SHAPE filled_late(void) /* read before it is filled */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[8] = {5};
    for (int e = 0; e < JOBS; e++) { // @filled_late
        y[a[e]] += part[k[e]];
        for (int c = 0; c < 8; c++)
            part[c] = x[a[e]] * c + e;
    }
    show("filled_late", y, DATA);
}

SHAPE sometimes_filled(void)
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[8] = {5};
    for (int e = 0; e < JOBS; e++) { // @sometimes_filled
        if (k[e] & 1)
            for (int c = 0; c < 8; c++)
                part[c] = x[a[e]] * c + e;
        y[a[e]] += part[k[e]];
    }
    show("sometimes_filled", y, DATA);
}

SHAPE read_behind(void) /* what the last iteration leaves is used */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), part[8] = {5};
    for (int e = 0; e < JOBS; e++) { // @read_behind
        for (int c = 0; c < 8; c++)
            part[c] = x[a[e]] * c + e;
        y[a[e]] += part[k[e]];
    }
    show("read_behind", part, 8);
    show("read_behind", y, DATA);
}

SHAPE local_or_shared(void) /* one instruction reaches a local array or the program's */
{
    int *a = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @local_or_shared
            long part[8];
            for (int c = 0; c < 8; c++)
                part[c] = c;
            long *where = k[e] & 1 ? &part[k[e]] : &y[a[e]];
            *where = *where * 3 + x[a[e]];
            y[a[e] ^ 1] ^= part[(k[e] + 2) & 7];
        }
    show("local_or_shared", y, DATA);
}

SHAPE hidden_in_choice(void) /* the data of a region, in another loop, behind a pointer that may be local */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), *k = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @hidden_in_choice
            y[a[e]] += x[b[e]];
        for (int e = 0; e < JOBS; e++) {
            long part[8];
            for (int c = 0; c < 8; c++)
                part[c] = c;
            long *where = k[e] & 1 ? &part[k[e]] : &y[b[e]];
            *where = *where * 3 + e;
            x[b[e]] ^= part[(k[e] + 2) & 7];
        }
    }
    show("hidden_in_choice", y, DATA);
}

static const long table_[8] = {3, 1, 4, 1, 5, 9, 2, 6};
static long walked_[4 * JOBS], start_[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static int picked_[JOBS], columns_[4 * JOBS];

SHAPE walked_globals(void) /* pointers that walk through globals: their phis start at the name itself */
{
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int j = 0; j < 4 * JOBS; j++)
        walked_[j] = draw() % 9, columns_[j] = (int)(draw() % DATA);
    for (int t = 0; t < SWEEPS; t++) {
        const long *w = walked_;
        const int *c = columns_;
        for (int i = 0; i < JOBS; i++) { // @walked_globals
            for (int j = 0; j < 4; j++)
                y[i] += *w++ * x[*c++];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v % JOBS] & 1;
    }
    show("walked_globals", y, JOBS);
}

SHAPE walked_on(void) /* as far as each job's number says: where it starts, the one before it knows */
{
    int *n = ints(JOBS, 5);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        const long *w = walked_;
        for (int i = 0; i < JOBS; i++) { // @walked_on
            for (int j = 0; j < n[i]; j++)
                y[i] += *w++ * x[columns_[i]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v % JOBS] & 1;
    }
    show("walked_on", y, JOBS);
}

SHAPE walked_from_start(void) /* each job walks through the same global from its start */
{
    int *a = ints(JOBS, DATA), *n = ints(JOBS, 8);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @walked_from_start
            const long *p = start_;
            long s = 0;
            for (int j = 0; j < n[i]; j++)
                s = s * 3 + *p++;
            y[i] += s + x[a[i]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v % JOBS] & 1;
        start_[t & 7]++;
    }
    show("walked_from_start", y, JOBS);
}

static int first_[DATA + 1], next_[6 * DATA];

SHAPE global_rows(void) /* rows in globals: their offsets and columns are copied, phis and all */
{
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int i = 0; i < DATA; i++)
        first_[i + 1] = first_[i] + (int)(draw() % 6);
    for (int j = 0; j < first_[DATA]; j++)
        next_[j] = (int)(draw() % DATA);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) { // @global_rows
            const int *p = next_ + first_[i], *end = next_ + first_[i + 1];
            for (; p != end; p++)
                y[i] += x[*p];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("global_rows", y, DATA);
}

SHAPE named_alike(void) /* names that begin alike, in one instruction */
{
    static int cell[JOBS], cells[JOBS];
    static long cell_data[DATA], cell_[DATA];
    for (int e = 0; e < JOBS; e++)
        cell[e] = (int)(draw() % DATA), cells[e] = (int)(draw() % DATA);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @named_alike
            cell_data[cell[e]] += (long)cells[e] * (cell_[cells[e]] + table_[e & 7]);
    show("named_alike", cell_data, DATA);
}

SHAPE told_apart(void) /* a local array of two, of which the compiler makes two variables */
{
    int *a = ints(2 * JOBS, DATA);
    double *x = reals(DATA, 2), *y = reals(JOBS, 2);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @told_apart
            double both[2], s = 0;
            for (int k = 0; k < 2; k++)
                both[k] = x[a[2 * i + k]];
            for (int k = 0; k < 2; k++)
                s = 0.5 * s + both[k];
            y[i] = 0.25 * s;
        }
    show_reals("told_apart", y, JOBS);
}

SHAPE left_apart(void) /* the same two, of which an iteration sees what another one left */
{
    int *a = ints(2 * JOBS, DATA);
    double *x = reals(DATA, 2), *y = reals(JOBS, 2), both[2] = {0};
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @left_apart
            double s = 0;
            for (int k = 0; k < 2; k++)
                s = 0.5 * s + both[k];
            for (int k = 0; k < 2; k++)
                both[k] = x[a[2 * i + k]];
            y[i] = 0.25 * s;
        }
    show_reals("left_apart", y, JOBS);
}

SHAPE filled_apart(void) /* two variables again, declared outside, and filled anew by every iteration */
{
    int *a = ints(2 * JOBS, DATA);
    double *x = reals(DATA, 2), *y = reals(JOBS, 2), both[2] = {0};
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @filled_apart
            for (int k = 0; k < 2; k++)
                both[k] = x[a[2 * i + k]];
            y[i] = 0.5 * both[0] - 0.25 * both[1];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += 0.125 * y[v];
    }
    show_reals("filled_apart", y, JOBS);
}

SHAPE one_apart(void) /* the second one is filled in some iterations */
{
    int *a = ints(2 * JOBS, DATA);
    double *x = reals(DATA, 2), *y = reals(JOBS, 2), both[2] = {0};
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @one_apart
            for (int k = 0; k < 2; k++)
                if (k <= (a[2 * i] & 1))
                    both[k] = x[a[2 * i + k]];
            y[i] = 0.5 * both[0] - 0.25 * both[1];
        }
    show_reals("one_apart", y, JOBS);
}

int main(void)
{
    told_apart(), left_apart();
    local_array(), own_rows(), local_in_rows(), outliving_array(), scratch(), half_filled(), filled_late();
    scratch_table(), table_with_gaps(), table_of_some(), table_read_between();
    sometimes_filled(), read_behind(), local_or_shared(), hidden_in_choice();
    walked_globals(), walked_from_start(), global_rows(), named_alike(), filled_apart(), one_apart(), walked_on();
    return picked_[0];
}
