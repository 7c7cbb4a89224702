/* Lists that end by what stands in them. */
typedef struct {
    int at; /* counted from 1 */
    long weight;
} Node;

static int *lists_of(const int *rp, int **start) /* each of them ended by -1 */
{
    int *col = ints(rp[JOBS], DATA), *order = permutation(JOBS), *made = malloc(((size_t)rp[JOBS] + JOBS) * sizeof *made);
    int put = 0;
    *start = malloc(JOBS * sizeof **start);
    for (int k = 0; k < JOBS; k++) {
        int i = order[k];
        (*start)[i] = put;
        for (int j = rp[i]; j < rp[i + 1]; j++)
            made[put++] = col[j];
        made[put++] = -1;
    }
    return made;
}

SHAPE ended(void)
{
    int *rp = offsets(JOBS, 6), *start, *list = lists_of(rp, &start);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended
            long s = 0;
            for (int k = start[i]; list[k] >= 0; k++)
                s += x[list[k]] ^ list[k];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended", y, JOBS);
}

SHAPE ended_sometimes(void) /* some iterations do not look at their list, whose start lies anywhere */
{
    int *rp = offsets(JOBS, 6), *start, *list = lists_of(rp, &start), *skip = ints(JOBS, 3);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9), *cost = longs(rp[JOBS] + JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        if (skip[i] == 0)
            start[i] = rp[JOBS] + 1000 + i;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_sometimes
            long s = 0;
            if (skip[i])
                for (int k = start[i]; list[k] >= 0; k++)
                    s += x[list[k]] * cost[k];
            y[i] += s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_sometimes", y, JOBS);
}

SHAPE ended_nodes(void) /* behind pointers of their own */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA), *order = permutation(JOBS);
    Node **row = malloc(JOBS * sizeof *row);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int k = 0; k < JOBS; k++) {
        int i = order[k], many = rp[i + 1] - rp[i];
        Node *made = row[i] = malloc(((size_t)many + 1) * sizeof *made);
        for (int j = 0; j < many; j++)
            made[j] = (Node){col[rp[i] + j] + 1, j & 3};
        made[many] = (Node){-1, 0};
    }
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_nodes
            long s = 0;
            for (const Node *p = row[i]; p->at != -1; p++)
                s += p->weight * x[p->at - 1];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_nodes", y, JOBS);
}

static int **rows_ended(void) /* the same without weights */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA), *order = permutation(JOBS), **row = malloc(JOBS * sizeof *row);
    for (int k = 0; k < JOBS; k++) {
        int i = order[k], many = rp[i + 1] - rp[i];
        int *made = row[i] = malloc(((size_t)many + 1) * sizeof *made);
        memcpy(made, col + rp[i], many * sizeof *made);
        made[many] = -1;
    }
    return row;
}

SHAPE ended_count(void) /* how many there were */
{
    int **row = rows_ended(), *count = ints(JOBS, 9);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_count
            long s = 0;
            const int *p = row[i];
            for (; *p >= 0; p++)
                s += x[*p];
            count[i] = (int)(p - row[i]);
            y[i] = s / (1 + count[i]);
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_count", y, JOBS);
    show_ints("ended_count", count, JOBS);
}

SHAPE ended_zero(void) /* counted from 1 */
{
    int **row = rows_ended(), *own = ints(JOBS, 9);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        for (int k = 0, last = 0; !last; k++)
            last = row[i][k] < 0, row[i][k]++;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_zero
            long s = own[i];
            for (const int *p = row[i]; *p; p++)
                s = s + x[*p - 1];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_zero", y, JOBS);
}

SHAPE ended_halves(void) /* which half an index is of says the old number alone */
{
    int **row = rows_ended();
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_halves
            long s = 0;
            for (const int *p = row[i]; *p >= 0; p++)
                s += *p < DATA / 2 ? x[*p] : -x[*p];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_halves", y, JOBS);
}

SHAPE ended_missing(void) /* some have no list, and some an empty one */
{
    int **row = rows_ended(), *kind = ints(JOBS, 7);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        if (kind[i] < 2)
            row[i] = NULL;
        else if (kind[i] == 2)
            row[i][0] = -1;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_missing
            if (!row[i])
                continue;
            long s = 1;
            for (int k = 0; row[i][k] != -1; k++)
                s += x[row[i][k]] * (k + 1);
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_missing", y, JOBS);
}

SHAPE ended_nothing(void) /* what is there is counted, if nothing can be read of some of it */
{
    int **row = rows_ended(), *kind = ints(JOBS, 7), *many = ints(JOBS, 1);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++) {
        while (row[i][many[i]] != -1)
            many[i]++;
        if (kind[i] == 0)
            row[i] = NULL;
        else if (kind[i] == 1)
            row[i] = malloc(0), many[i] = 0;
    }
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_nothing
            if (row[i]) {
                long s = 1;
                for (int k = 0; k < many[i]; k++)
                    s += x[row[i][k]] * (k + 1);
                y[i] += s;
            }
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_nothing", y, JOBS);
}

SHAPE ended_beside(void) /* what a row is compared with is elsewhere in a copy; its values have rows of their own */
{
    int **row = rows_ended(), *volatile some = row[JOBS / 2], *const none = some;
    long **value = malloc(JOBS * sizeof *value), *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        value[i] = longs(6, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_beside
            if (row[i] == none)
                continue;
            long s = 0;
            for (int k = 0; row[i][k] >= 0; k++)
                s += value[i][k] * x[row[i][k]];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_beside", y, JOBS);
}

SHAPE ended_where(void) /* how far from another row, which is elsewhere in a copy */
{
    int **row = rows_ended(), *const first = row[0];
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_where
            long s = 0;
            const int *p = row[i];
            for (; *p >= 0; p++)
                s += x[*p];
            y[i] = s + (p - first > 1L << 40);
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_where", y, JOBS);
}

SHAPE ended_late(void) /* none is empty: nobody looks before the first */
{
    int *rp = offsets(JOBS, 6), *start, *list = lists_of(rp, &start);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        if (list[start[i]] < 0)
            start[i] = start[(i + 1) % JOBS];
    for (int i = 0; i < JOBS; i++)
        if (list[start[i]] < 0)
            start[i] = 0, list[0] = 1;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_late
            long s = 0;
            int k = start[i];
            do
                s += x[list[k++]];
            while (list[k] >= 0);
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_late", y, JOBS);
}

SHAPE ended_twice(void) /* two loops over a list, one after the other */
{
    int *rp = offsets(JOBS, 6), *start, *list = lists_of(rp, &start);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_twice
            long s = 0;
            for (int k = start[i]; list[k] >= 0; k++)
                s += x[list[k]];
            for (int k = start[i]; list[k] >= 0; k++)
                y[list[k]] += s * 3;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_twice", y, DATA);
}

SHAPE rows_twice(void) /* the same of rows with an end, some of them over the second part of what they read */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *a = longs(rp[JOBS], 9), *b = longs(rp[JOBS], 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @rows_twice
            long s = 0;
            for (int k = rp[i]; k < rp[i + 1]; k++)
                s += a[k] * x[col[k]];
            for (int k = rp[i]; k < rp[i + 1]; k++)
                y[col[k]] += b[k] * s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("rows_twice", y, DATA);
}

SHAPE ended_values(void) /* rows of values beside the lists, each of them one shorter */
{
    int **row = rows_ended();
    double *x = reals(DATA, 100), *y = reals(JOBS, 9), **value = malloc(JOBS * sizeof *value);
    for (int i = 0; i < JOBS; i++) {
        int many = 0;
        while (row[i][many] >= 0)
            many++;
        value[i] = malloc((size_t)many * sizeof *value[i]);
        for (int j = 0; j < many; j++)
            value[i][j] = 0.001 * (i + j);
    }
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_values
            double s = 0;
            for (int k = 0; row[i][k] >= 0; k++)
                s += value[i][k] * x[row[i][k]];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += 0.25 * y[v];
    }
    show_reals("ended_values", y, JOBS);
}

SHAPE ended_and_not(void) /* lists that end by what stands in them, and rows between two numbers, of other lengths */
{
    int *rp = offsets(JOBS, 6), *start, *list = lists_of(rp, &start), *rq = offsets(JOBS, 4);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9), *z = longs(rq[JOBS], 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @ended_and_not
            long s = 0;
            for (int k = start[i]; list[k] >= 0; k++)
                s += x[list[k]];
            for (int k = rq[i]; k < rq[i + 1]; k++)
                s ^= z[k];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("ended_and_not", y, JOBS);
}

int main(void)
{
    ended(), ended_sometimes(), ended_nodes(), ended_late(), ended_twice(), rows_twice(), ended_count(), ended_where(), ended_values();
    ended_and_not(), ended_missing(), ended_nothing(), ended_beside(), ended_zero(), ended_halves();
    return 0;
}
