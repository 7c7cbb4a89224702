/* Rows behind pointers of their own. */
typedef struct {
    int *begin, *end, *room;
} List;

typedef struct {
    int many;
    int *index;
    long *weight;
} Row;

typedef struct {
    int first, last;
    long seen;
} Piece;

static int **rows_of(const int *rp, const int *col)
{
    int **made = malloc(JOBS * sizeof *made), *order = permutation(JOBS);
    for (int k = 0; k < JOBS; k++) {
        int i = order[k], many = rp[i + 1] - rp[i];
        made[i] = malloc(((size_t)many + i % 3 + 1) * sizeof **made);
        memcpy(made[i], col + rp[i], (size_t)many * sizeof **made);
    }
    return made;
}

SHAPE allocated(void)
{
    int *rp = offsets(JOBS, 6), **col = rows_of(rp, ints(rp[JOBS], DATA)), *many = malloc(JOBS * sizeof *many);
    long **val = malloc(JOBS * sizeof *val), *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        many[i] = rp[i + 1] - rp[i], val[i] = longs(many[i] + 1, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @allocated
            const int *c = col[i];
            const long *v = val[i];
            long s = 0;
            for (int j = 0; j < many[i]; j++)
                s += v[j] * x[c[j]];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("allocated", y, JOBS);
}

SHAPE sliced(void) /* one array, and its end is the next one's begin */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA), **row = malloc((JOBS + 1) * sizeof *row);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i <= JOBS; i++)
        row[i] = col + rp[i];
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @sliced
            for (const int *c = row[i]; c != row[i + 1]; c++)
                y[i] += x[*c];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("sliced", y, JOBS);
}

SHAPE lists(void) /* how many there are is data, too; some are null */
{
    int *rp = offsets(JOBS, 6), **made = rows_of(rp, ints(rp[JOBS], DATA));
    List *list = calloc(JOBS, sizeof *list);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        if (i % 5)
            list[i] = (List){made[i], made[i] + rp[i + 1] - rp[i], made[i] + rp[i + 1] - rp[i] + 1};
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @lists
            long s = 0;
            for (const int *c = list[i].begin; c != list[i].end; c++)
                s += x[*c];
            y[i] = s * (list[i].end - list[i].begin);
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("lists", y, JOBS);
}

SHAPE indexed_lists(void)
{
    int *rp = offsets(JOBS, 6), **made = rows_of(rp, ints(rp[JOBS], DATA));
    List *list = calloc(JOBS, sizeof *list);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        list[i] = (List){made[i], made[i] + rp[i + 1] - rp[i], NULL};
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @indexed_lists
            for (size_t j = 0; j < (size_t)(list[i].end - list[i].begin); j++)
                y[i] += x[list[i].begin[j]] ^ list[i].begin[j];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("indexed_lists", y, JOBS);
}

SHAPE records_of_rows(void)
{
    int *rp = offsets(JOBS, 6), **col = rows_of(rp, ints(rp[JOBS], DATA));
    Row *row = malloc(JOBS * sizeof *row);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        row[i] = (Row){rp[i + 1] - rp[i], col[i], longs(rp[i + 1] - rp[i] + 1, 9)};
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @records_of_rows
            long s = row[i].many;
            for (int j = 0; j < row[i].many; j++)
                s += row[i].weight[j] * x[row[i].index[j]];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("records_of_rows", y, JOBS);
}

SHAPE counted_rows(void) /* a row begins with how many follow */
{
    int **row = malloc(JOBS * sizeof *row);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++) {
        row[i] = ints(i % 6 + 1, DATA);
        row[i][0] = i % 6;
    }
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @counted_rows
            const int *r = row[i];
            for (int j = 0; j < r[0]; j++)
                y[i] += x[r[j + 1]];
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("counted_rows", y, JOBS);
}

SHAPE twice(void) /* two loops over the same row */
{
    int *rp = offsets(JOBS, 6), **row = rows_of(rp, ints(rp[JOBS], DATA)), *many = malloc(JOBS * sizeof *many);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        many[i] = rp[i + 1] - rp[i];
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @twice
            long most = 0, s = 0;
            for (int j = 0; j < many[i]; j++)
                most = x[row[i][j]] > most ? x[row[i][j]] : most;
            for (int j = 0; j < many[i]; j++)
                s += most - x[row[i][j]];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("twice", y, JOBS);
}

SHAPE points(void) /* rows that are gathered */
{
    int *next = ints(JOBS, DATA);
    long **point = malloc(DATA * sizeof *point), *y = longs(JOBS, 9), *x = longs(DATA, 9);
    for (int v = 0; v < DATA; v++)
        point[v] = longs(3, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @points
            long s = x[next[i]];
            for (int k = 0; k < 3; k++)
                s += point[next[i]][k] * (k + 1);
            y[i] += s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("points", y, JOBS);
}

SHAPE pieces_in_records(void) /* numbers in place of pointers */
{
    int *rp = offsets(JOBS, 6), *col = ints(rp[JOBS], DATA), *order = permutation(JOBS);
    Piece *piece = malloc(JOBS * sizeof *piece);
    long *x = longs(DATA, 100), *y = longs(JOBS, 9);
    for (int i = 0; i < JOBS; i++)
        piece[i] = (Piece){rp[order[i]], rp[order[i] + 1], i * 3L};
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) { // @pieces_in_records
            long s = piece[i].seen;
            for (int j = piece[i].first; j < piece[i].last; j++)
                s += x[col[j]];
            y[i] = s;
        }
        for (int v = 0; v < DATA; v++)
            x[v] += y[v] & 3;
    }
    show("pieces_in_records", y, JOBS);
}

static long **points_of(void)
{
    long **made = malloc((DATA + 1) * sizeof *made);
    for (int v = 0; v <= DATA; v++)
        made[v] = longs(3, 100);
    return made;
}

SHAPE own_and_others(void) /* rows that are gathered, beside the iteration's own */
{
    int *rp = offsets(DATA, 6), *near = ints(rp[DATA], DATA);
    long **point = points_of(), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @own_and_others
            long s = y[v] & 7;
            for (int j = rp[v]; j < rp[v + 1]; j++)
                for (int k = 0; k < 3; k++)
                    s += (point[near[j]][k] - point[v][k]) ^ k;
            y[v] = s;
        }
    }
    show("own_and_others", y, DATA);
}

SHAPE next_and_others(void) /* the next one's own */
{
    int *rp = offsets(DATA, 6), *near = ints(rp[DATA], DATA);
    long **point = points_of(), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @next_and_others
            long s = y[v] & 7;
            for (int j = rp[v]; j < rp[v + 1]; j++)
                s += point[near[j]][0] ^ point[v + 1][1];
            y[v] = s;
        }
    }
    show("next_and_others", y, DATA);
}

SHAPE two_and_others(void) /* one's own and the next one's: no order of the rows is that of the iterations */
{
    int *rp = offsets(DATA, 6), *near = ints(rp[DATA], DATA);
    long **point = points_of(), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @two_and_others
            long s = y[v] & 7;
            for (int j = rp[v]; j < rp[v + 1]; j++)
                s += (point[near[j]][0] ^ point[v][1]) + point[v + 1][2];
            y[v] = s;
        }
    }
    show("two_and_others", y, DATA);
}

SHAPE down_and_others(void)
{
    int *rp = offsets(DATA, 6), *near = ints(rp[DATA], DATA);
    long **point = points_of(), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = DATA - 1; v >= 0; v--) { // @down_and_others
            long s = y[v] & 7;
            for (int j = rp[v]; j < rp[v + 1]; j++)
                s += point[near[j]][0] ^ point[v][1];
            y[v] = s;
        }
    }
    show("down_and_others", y, DATA);
}

int main(void)
{
    allocated();
    sliced();
    lists();
    indexed_lists();
    records_of_rows();
    counted_rows();
    twice();
    points();
    pieces_in_records();
    own_and_others();
    next_and_others();
    two_and_others();
    down_and_others();
    return 0;
}
