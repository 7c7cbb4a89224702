/* Jobs with an inner loop over a piece of an array. */
SHAPE csr(void)
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA);
    long *val = longs(rp[JOBS], 9), *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @csr
            long s = 0;
            for (int j = rp[i]; j < rp[i + 1]; j++)
                s += val[j] * x[col[j]];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("csr", y, JOBS);
}

SHAPE start_end(void)
{
    int *rp = offsets(JOBS, 6), *from = malloc(JOBS * sizeof *from), *to = malloc(JOBS * sizeof *to);
    int *col = ints(rp[JOBS], DATA), *order = permutation(JOBS);
    long *val = longs(rp[JOBS], 9), *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        from[i] = rp[order[i]], to[i] = rp[order[i] + 1];
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @start_end
            for (int j = from[i]; j < to[i]; j++)
                y[i] += val[j] * x[col[j]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("start_end", y, JOBS);
}

SHAPE degrees(void) /* offsets that are data too */
{
    int *rp = offsets(JOBS, 6), *from = malloc(JOBS * sizeof *from), *to = malloc(JOBS * sizeof *to);
    int *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        from[i] = rp[i], to[i] = rp[i + 1];
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @degrees
            long s = from[i] * 3 + to[i];
            for (int j = from[i]; j < to[i]; j++)
                s += x[col[j]] * (to[i] - from[i]);
            y[i] ^= s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("degrees", y, JOBS);
}

SHAPE degree_of_row(void)
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @degree_of_row
            int n = rp[i + 1] - rp[i];
            for (int j = rp[i]; j < rp[i + 1]; j++)
                y[i] += x[col[j]] * n;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("degree_of_row", y, JOBS);
}

SHAPE guarded_rows(void)
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA);
    bool *on = (bool *)bytes(JOBS, 2);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @guarded_rows
            if (!on[i])
                continue;
            for (int j = rp[i]; j < rp[i + 1]; j++)
                y[i] += x[col[j]] * i;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("guarded_rows", y, JOBS);
}

SHAPE last_row_open(void) /* the last job never reads its end, which does not exist */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA), *cut = malloc(JOBS * sizeof *cut);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    bool *on = (bool *)bytes(JOBS, 2);
    on[JOBS - 1] = false;
    memcpy(cut, rp, JOBS * sizeof *cut);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @last_row_open
            if (on[i])
                for (int j = cut[i]; j < cut[i + 1]; j++)
                    y[i] += x[col[j]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("last_row_open", y, JOBS);
}

SHAPE next_entry(void)
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS] + 1, DATA);
    long *val = longs(rp[JOBS] + 1, 9), *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @next_entry
            long s = 0;
            for (int j = rp[i]; j < rp[i + 1]; j++)
                s += val[j] * x[col[j]] + 3 * val[j + 1];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("next_entry", y, JOBS);
}

SHAPE closed_polygons(void) /* all but the last entry of a row, with its successor */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS] + 1, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @closed_polygons
            for (int j = rp[i]; j < rp[i + 1] - 1; j++)
                y[i] += x[col[j]] - 2 * x[col[j + 1]];
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("closed_polygons", y, JOBS);
}

SHAPE without_first(void)
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS] + 1, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @without_first
            for (int j = rp[i] + 1; j < rp[i + 1] + 1; j++)
                y[i] += x[col[j]] * 3;
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("without_first", y, JOBS);
}

struct entry { int col; short w; long val; };

SHAPE record_rows(void)
{
    int *rp = offsets(JOBS, 6);
    struct entry *entry = calloc((size_t)rp[JOBS] + 1, sizeof *entry);
    for (int j = 0; j < rp[JOBS]; j++)
        entry[j] = (struct entry){(int)(draw() % DATA), (short)(draw() % 9), draw() % 99};
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @record_rows
            for (int j = rp[i]; j < rp[i + 1]; j++)
                y[i] += entry[j].val * x[entry[j].col] + entry[j].w;
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("record_rows", y, JOBS);
}

SHAPE overlapping_rows(void)
{
    int *from = ints(JOBS, 900), *to = malloc(JOBS * sizeof *to), *col = ints(1000, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        to[i] = from[i] + (int)(draw() % 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @overlapping_rows
            for (int j = from[i]; j < to[i]; j++)
                y[i] += x[col[j]];
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("overlapping_rows", y, JOBS);
}

SHAPE narrow_offsets(void) /* pieces that overlap add up to more than their starts can hold */
{
    unsigned char *from = bytes(JOBS, 60), *to = malloc(JOBS);
    int *col = ints(128, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        to[i] = (unsigned char)(from[i] + draw() % 60);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @narrow_offsets
            for (int j = from[i]; j < to[i]; j++)
                y[i] += x[col[j]];
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("narrow_offsets", y, JOBS);
}

SHAPE reversed_pieces(void) /* some ends lie before their starts: no iterations, and somebody asks */
{
    int *from = ints(JOBS, 900), *to = malloc(JOBS * sizeof *to), *col = ints(1000, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        to[i] = from[i] + (int)(draw() % 10) - 4;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @reversed_pieces
            if (to[i] < from[i])
                y[i] += 7;
            for (int j = from[i]; j < to[i]; j++)
                y[i] += x[col[j]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("reversed_pieces", y, JOBS);
}

SHAPE asks_if_empty(void)
{
    int *from = offsets(JOBS, 3), *to = malloc(JOBS * sizeof *to), *col = ints(from[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    memcpy(to, from + 1, JOBS * sizeof *to);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @asks_if_empty
            y[i] *= 3;
            if (from[i] < to[i]) {
                long s = 5;
                int j = from[i];
                do
                    s += x[col[j]];
                while (++j < to[i]);
                y[i] += s;
            }
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("asks_if_empty", y, JOBS);
}

SHAPE two_loops(void)
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @two_loops
            long s = 1;
            for (int j = rp[i]; j < rp[i + 1]; j++)
                s += x[col[j]];
            for (int j = rp[i]; j < rp[i + 1]; j++)
                y[i] += s ^ x[col[j]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("two_loops", y, JOBS);
}

SHAPE conditional_entries(void) /* entries behind the end of a shorter array are never read */
{
    int *rp = offsets(JOBS, 6), n = rp[JOBS], *col = ints(n, DATA);
    bool *on = (bool *)bytes(n, 2);
    long *val = longs(n - 20, 9), *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int j = n - 20; j < n; j++)
        on[j] = false;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @conditional_entries
            for (int j = rp[i]; j < rp[i + 1]; j++)
                if (on[j])
                    y[i] += val[j] * x[col[j]];
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("conditional_entries", y, JOBS);
}

SHAPE ellpack(void)
{
    int *col = ints(8 * JOBS, DATA), *count = ints(JOBS, 9);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ellpack
            int n = count[i];
            for (int j = 0; j < n; j++)
                y[i] += x[col[8 * i + j]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ellpack", y, JOBS);
}

SHAPE column_major(void)
{
    int *col = ints(4 * JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @column_major
            for (int j = 0; j < 4; j++)
                y[i] += x[col[j * JOBS + i]];
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("column_major", y, JOBS);
}

SHAPE conjugate(void) /* y = A x and updates that tie rows to columns: jobs are data */
{
    int *rp = offsets(DATA, 6), *col = ints(rp[DATA], DATA);
    long *val = longs(rp[DATA], 9), *p = longs(DATA, 100), *q = longs(DATA, 9), *r = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) { // @conjugate
            long s = 0;
            for (int j = rp[i]; j < rp[i + 1]; j++)
                s += val[j] * p[col[j]];
            q[i] = s;
        }
        long rho = 0;
        for (int i = 0; i < DATA; i++)
            rho += p[i] * q[i];
        for (int i = 0; i < DATA; i++) {
            r[i] -= (rho & 7) * q[i];
            p[i] = r[i] + 3 * p[i];
        }
    }
    show("conjugate", p, DATA);
}

SHAPE half_list(void) /* each job also updates its neighbours */
{
    int *rp = offsets(DATA, 6), *nb = ints(rp[DATA], DATA);
    long *x = longs(DATA, 100), *f = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) { // @half_list
            long own = 0;
            for (int j = rp[i]; j < rp[i + 1]; j++) {
                long d = x[i] - x[nb[j]];
                own += d;
                f[nb[j]] -= d;
            }
            f[i] += own;
        }
        for (int i = 0; i < DATA; i++)
            x[i] += f[i] & 7;
    }
    show("half_list", x, DATA);
}

SHAPE square(void) /* x and y of a square matrix that nothing ties together */
{
    int *rp = offsets(DATA, 6), *col = ints(rp[DATA], DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), sum = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) { // @square
            long s = 0;
            for (int j = rp[i]; j < rp[i + 1]; j++)
                s += x[col[j]];
            y[i] += s;
        }
        for (int i = 0; i < DATA; i++)
            sum += x[i];
        sum += y[0];
    }
    printf("square %ld\n", sum);
    show("square", y, DATA);
}

SHAPE leaving_rows(void) /* a row ends where a value says so */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @leaving_rows
            for (int j = rp[i]; j < rp[i + 1]; j++) {
                if (x[col[j]] > 95)
                    break;
                y[i] += x[col[j]];
            }
        for (int v = 0; v < DATA; v++)
            x[v] = (x[v] + (y[v] & 3)) % 100;
    }
    show("leaving_rows", y, JOBS);
}

SHAPE common_end(void) /* every piece ends at the same place */
{
    int *first = ints(JOBS, 40);
    long *w = longs(40, 9), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @common_end
            for (int k = first[e]; k < 40; k++)
                y[e] += w[k];
    show("common_end", y, JOBS);
}

int main(void)
{
    csr(), start_end(), degrees(), degree_of_row(), guarded_rows(), last_row_open(), next_entry(), closed_polygons();
    without_first(), record_rows(), overlapping_rows(), narrow_offsets(), reversed_pieces(), asks_if_empty();
    two_loops(), conditional_entries(), ellpack(), column_major(), conjugate(), half_list(), square(), leaving_rows();
    common_end(); /* behind the others: they go on drawing */
    return 0;
}
