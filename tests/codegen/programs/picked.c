/* Rows behind pointers that are picked otherwise than by an index or the iteration alone. */
static long **points(int many)
{
    long **made = malloc((size_t)many * sizeof *made);
    for (int v = many - 1; v >= 0; v--)
        made[v] = longs(1 + v % 3, 100);
    return made;
}

static void show_points(const char *name, long **point, int many)
{
    long *first = malloc((size_t)many * sizeof *first);
    for (int v = 0; v < many; v++)
        first[v] = point[v][0];
    show(name, first, many);
}

SHAPE computed(void) /* the number of a row is computed */
{
    int *a = ints(JOBS, DATA);
    long **x = points(DATA), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) // @computed
            y[a[i]] += x[(i * 5 + 2) % DATA][0] ^ x[a[i]][0];
    show("computed", y, DATA);
}

SHAPE computed_sums(void)
{
    int *a = ints(JOBS, DATA);
    long **y = points(JOBS), *x = longs(JOBS, 9), *seen = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @computed_sums
            seen[a[i]]++;
            y[a[i]][0] += x[i];
            y[i / 2][0] -= x[i] & 3;
        }
    show_points("computed_sums", y, JOBS);
    show("computed_sums", seen, DATA);
}

SHAPE skipping(int first, int step) /* the record of the last iteration ends behind the table */
{
    int *a = ints(3 * JOBS, DATA);
    long **x = points(JOBS - 1), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = first; i < JOBS - 1; i += step) // @skipping
            for (int k = 0; k < 3; k++)
                y[a[3 * i + k]] += x[i][0];
    show("skipping", y, DATA);
}

SHAPE conditioned(void) /* which rows are reached is another in each sweep */
{
    int *a = ints(JOBS, DATA);
    long **x = points(JOBS), *y = longs(DATA, 9);
    double *w = reals(JOBS, 2);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @conditioned
            if (w[i] > 0.5)
                y[a[i]] += x[i][0];
        for (int i = 0; i < JOBS; i++)
            w[i] = 1 - w[i];
    }
    show("conditioned", y, DATA);
}

SHAPE flagged(void) /* so it is with numbers that the loop itself writes */
{
    int *a = ints(JOBS, DATA), *flag = ints(JOBS, 2);
    long **x = points(JOBS), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @flagged
            if (flag[i])
                y[a[i]] += x[i][0];
            flag[i] = !flag[i];
        }
    show("flagged", y, DATA);
}

static int **near_of(const int *a)
{
    int **made = malloc(JOBS * sizeof *made);
    for (int i = JOBS - 1; i >= 0; i--) {
        made[i] = malloc(3 * sizeof **made);
        for (int k = 0; k < 3; k++)
            made[i][k] = a[3 * i + k];
    }
    return made;
}

SHAPE in_rows(void) /* an index in a row picks another row */
{
    int **near = near_of(ints(3 * JOBS, DATA)), *a = ints(JOBS, DATA), *many = ints(JOBS, 3);
    long **x = points(DATA), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) // @in_rows
            for (int k = 0; k <= many[i]; k++)
                y[a[i]] += x[near[i][k]][0];
    show("in_rows", y, DATA);
}

SHAPE summed_in_rows(void)
{
    int **near = near_of(ints(3 * JOBS, DATA)), *a = ints(JOBS, DATA);
    long **x = points(DATA), **y = points(DATA), *seen = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @summed_in_rows
            seen[a[i]]++;
            y[near[i][0]][0] += x[near[i][1]][0] ^ x[a[i]][0];
        }
    show_points("summed_in_rows", y, DATA);
    show("summed_in_rows", seen, DATA);
}

SHAPE moved_between(void) /* between the sweeps the index in the row becomes another one */
{
    int **near = near_of(ints(3 * JOBS, DATA)), *a = ints(JOBS, DATA);
    long **x = points(DATA), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @moved_between
            y[a[i]] += x[near[i][0]][0];
        if (t > 0)
            for (int i = 0; i < JOBS; i++)
                near[i][0] = (near[i][0] + i) % DATA;
    }
    show("moved_between", y, DATA);
}

SHAPE missing(void) /* what is not reached is no row */
{
    int *a = ints(JOBS, DATA);
    long **x = points(JOBS), *y = longs(DATA, 9);
    double *w = reals(JOBS, 2);
    for (int i = 0; i < JOBS; i++)
        if (w[i] <= 0.5)
            x[i] = NULL;
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) // @missing
            if (w[i] > 0.5)
                y[a[i]] += x[i][0];
    show("missing", y, DATA);
}

SHAPE missing_now(void) /* the loop changes what says so */
{
    int *a = ints(JOBS, DATA);
    long **x = points(JOBS), *y = longs(DATA, 9);
    double *w = reals(JOBS, 2);
    for (int i = 0; i < JOBS; i++)
        if (w[i] <= 0.5)
            x[i] = NULL;
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) // @missing_now
            if (w[i] > 0.5) {
                y[a[i]] += x[i][0];
                w[a[i]] *= 0.75;
            }
    show("missing_now", y, DATA);
}

SHAPE of_data(void) /* data become the number of a row */
{
    double *place = reals(JOBS, DATA);
    int *a = ints(JOBS, DATA);
    long **y = points(DATA), *seen = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @of_data
            seen[a[i]]++;
            y[(int)place[i]][0] += i;
        }
    show_points("of_data", y, DATA);
    show("of_data", seen, DATA);
}

SHAPE moving_in_rows(void) /* the index in the row changes */
{
    int **near = near_of(ints(3 * JOBS, DATA)), *a = ints(JOBS, DATA);
    long **x = points(DATA), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @moving_in_rows
            y[a[i]] += x[near[i][0]][0];
            near[i][0] = (near[i][0] + 1) % DATA;
        }
    show("moving_in_rows", y, DATA);
}

static long **slices_of(long *block, int many, int by)
{
    long **made = malloc((size_t)many * sizeof *made);
    for (int v = 0; v < many; v++)
        made[v] = block + by * (many - 1 - v);
    return made;
}

SHAPE corners(void) /* three pointers of an iteration lead to slices of one array */
{
    int *a = ints(JOBS, DATA);
    long *block = longs(6 * DATA, 9), **y = slices_of(block, 3 * DATA, 2), *seen = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @corners
            seen[a[i]]++;
            y[3 * a[i]][0] += i;
            y[3 * a[i] + 1][1] -= i;
            y[3 * a[i] + 2][1] += 3;
        }
    show("corners", block, 6 * DATA);
    show("corners", seen, DATA);
}

SHAPE one_block(void) /* two tables lead to the halves of one array */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *block = longs(4 * DATA, 9), *seen = longs(DATA, 9);
    long **x = slices_of(block, DATA, 2), **y = slices_of(block + 2 * DATA, DATA, 2);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @one_block
            seen[a[i]]++;
            y[a[i]][1] += x[b[i]][0];
        }
    show("one_block", block, 4 * DATA);
    show("one_block", seen, DATA);
}

SHAPE one_and_the_same(void) /* and here to the same rows, which are read and written */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *block = longs(4 * DATA, 9), *seen = longs(DATA, 9);
    long **x = slices_of(block, DATA, 2), **y = slices_of(block + 2 * DATA - 2, DATA, 2);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @one_and_the_same
            seen[a[i]]++;
            y[a[i]][0] = 3 * y[a[i]][0] + x[b[i]][0];
        }
    show("one_and_the_same", block, 4 * DATA);
    show("one_and_the_same", seen, DATA);
}

SHAPE two_tables(void) /* which table it is depends on the iteration */
{
    int *a = ints(JOBS, DATA);
    long **x = points(DATA), **other = points(DATA), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) // @two_tables
            y[a[i]] += (i & 1 ? x : other)[(i * 5 + 2) % DATA][0];
    show("two_tables", y, DATA);
}

SHAPE changing_table(void)
{
    int *a = ints(JOBS, DATA);
    long **x = points(JOBS), *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @changing_table
            y[a[i]] += x[(i * 5 + 2) % JOBS][0];
            x[i] = x[(i * 7 + 1) % JOBS];
        }
    show("changing_table", y, JOBS);
}

SHAPE shared_rows(void) /* two pointers lead to one row */
{
    int *a = ints(JOBS, DATA);
    long **y = points(JOBS), *x = longs(DATA, 9), *seen = longs(DATA, 9);
    y[17] = y[JOBS - 1];
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @shared_rows
            seen[a[i]]++;
            y[i * 7 % JOBS][0] = x[a[i]] - 2 * y[i * 7 % JOBS][0];
        }
    show_points("shared_rows", y, JOBS);
    show("shared_rows", seen, DATA);
}

static long **asked_points(long **keys, long **asked) /* a table to search in, its keys, and what is looked for */
{
    *keys = longs(DATA, 50);
    *asked = longs(JOBS, 50);
    for (int i = 0; i < JOBS; i++)
        (*asked)[i] = 40 + i % 10;
    return points(DATA);
}

SHAPE searched(void) /* the row of what a search finds, which is left early */
{
    int *a = ints(JOBS, DATA);
    long *keys, *asked, **x = asked_points(&keys, &asked), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @searched
            int at = -1;
            for (int k = 0; k < DATA && at < 0; k++)
                if (keys[k] >= asked[i])
                    at = k;
            at = at < 0 ? DATA - 1 : at;
            y[a[i]] += x[at][0] ^ x[a[i]][0];
        }
    show("searched", y, DATA);
}

SHAPE searched_behind(void) /* by the counter that the search leaves behind */
{
    int *a = ints(JOBS, DATA);
    long *keys, *asked, **x = asked_points(&keys, &asked), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @searched_behind
            int at = 0;
            while (at < DATA - 1 && keys[at] < asked[i])
                at++;
            y[a[i]] += x[at][0];
        }
    show("searched_behind", y, DATA);
}

SHAPE searched_in_moving(void) /* the rows change places between the sweeps */
{
    int *a = ints(JOBS, DATA);
    long *keys, *asked, **x = asked_points(&keys, &asked), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @searched_in_moving
            int at = -1;
            for (int k = 0; k < DATA && at < 0; k++)
                if (keys[k] >= asked[i])
                    at = k;
            at = at < 0 ? DATA - 1 : at;
            y[a[i]] += x[at][0];
        }
        long *first = x[t];
        x[t] = x[DATA - 1 - t];
        x[DATA - 1 - t] = first;
    }
    show("searched_in_moving", y, DATA);
}

SHAPE searched_with_holes(void) /* whether one is found, only the iteration knows */
{
    int *a = ints(JOBS, DATA);
    long *keys, *asked, **x = asked_points(&keys, &asked), *y = longs(DATA, 9);
    keys[3] = -1;
    x[3] = NULL;
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @searched_with_holes
            int at = -1;
            for (int k = 0; k < DATA && at < 0; k++)
                if (keys[k] >= asked[i])
                    at = k;
            at = at < 0 ? DATA - 1 : at;
            y[a[i]] += x[at][0];
        }
    show("searched_with_holes", y, DATA);
}

SHAPE searched_and_written(void)
{
    int *a = ints(JOBS, DATA);
    long *keys, *asked, **x = asked_points(&keys, &asked), *seen = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @searched_and_written
            seen[a[i]]++;
            int at = -1;
            for (int k = 0; k < DATA && at < 0; k++)
                if (keys[k] >= asked[i])
                    at = k;
            at = at < 0 ? DATA - 1 : at;
            x[at][0] = 2 * x[at][0] - i;
        }
    show_points("searched_and_written", x, DATA);
    show("searched_and_written", seen, DATA);
}

SHAPE never(int few) /* no row of one table is reached, whose pointers lead nowhere */
{
    int *a = ints(JOBS, DATA);
    long **x = points(DATA), **z = calloc(JOBS, sizeof *z), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @never
            y[a[i]] += x[a[i]][0];
            if (i > few)
                z[a[i]][0] += 3;
        }
    show("never", y, DATA);
}

SHAPE never_any(int few) /* of no table */
{
    int *a = ints(JOBS, DATA);
    long **x = calloc(JOBS, sizeof *x), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @never_any
            y[a[i]] += i & 7;
            if (i > few)
                x[a[i]][0] += 3;
        }
    show("never_any", y, DATA);
}

SHAPE once_more(int few) /* not in the first sweep, but later */
{
    int *a = ints(JOBS, DATA);
    long **x = points(DATA), **z = points(DATA), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++, few -= 7)
        for (int i = 0; i < JOBS; i++) { // @once_more
            y[a[i]] += x[a[i]][0];
            if (i > few)
                z[a[i]][0] += 3;
        }
    show("once_more", y, DATA);
    show_points("once_more", z, DATA);
}

SHAPE backwards(void) /* rows by the counter, which runs down, and by an index that takes new numbers */
{
    int *a = ints(JOBS, DATA);
    long **x = points(JOBS), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = JOBS - 1; i >= 0; i--) // @backwards
            y[a[i]] += x[i][0] * (x[a[i]][0] & 3);
    show("backwards", y, DATA);
}

SHAPE twice(void) /* the row that is read between the two might be what is added to */
{
    int *a = ints(JOBS, DATA);
    long **x = points(JOBS), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @twice
            y[a[i]] += x[i][0];
            y[a[i]] -= x[a[i]][0] & 3;
        }
    show("twice", y, DATA);
}

SHAPE twice_and_seen(void)
{
    int *a = ints(JOBS, DATA);
    long **x = points(JOBS), *y = longs(DATA, 9), *seen = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 0; i < JOBS; i++) { // @twice_and_seen
            y[a[i]] += x[i][0];
            seen[i] = y[a[i]];
            y[a[i]] -= x[a[i]][0] & 3;
        }
    show("twice_and_seen", y, DATA);
    show("twice_and_seen", seen, JOBS);
}

int main(void)
{
    computed();
    computed_sums();
    skipping(1, 3);
    conditioned();
    flagged();
    in_rows();
    summed_in_rows();
    moved_between();
    missing();
    missing_now();
    of_data();
    moving_in_rows();
    corners();
    one_block();
    one_and_the_same();
    two_tables();
    changing_table();
    shared_rows();
    searched();
    searched_behind();
    searched_in_moving();
    searched_with_holes();
    searched_and_written();
    never(JOBS);
    never_any(JOBS);
    once_more(JOBS);
    backwards();
    twice();
    twice_and_seen();
    return 0;
}
