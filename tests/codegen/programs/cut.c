/* Data in rows that an array of bounds cuts: rows that are written, and rows that an index picks. */

/* Arrays that sweeps of a loop over steps share: rows [row[v], row[v + 1]) of `to` and `a`, and two numbers a vertex. */
static int *row_, *to_;
static long *a_, *x_, *y_;

static void fresh(int most, int first)
{
    row_ = offsets(DATA, most);
    for (int v = 0; v <= DATA; v++)
        row_[v] += first;
    to_ = ints(row_[DATA] + 4, DATA);
    a_ = longs(row_[DATA] + 4, 50);
    x_ = longs(DATA, 60);
    y_ = longs(DATA, 70);
}

static void told(const char *name)
{
    show(name, a_, row_[DATA] + 4);
    show(name, x_, DATA);
    show(name, y_, DATA);
}

static void settle(long *restrict x, const long *restrict y)
{
    for (int v = 0; v < DATA; v++)
        x[v] += y[v] & 15;
}

SHAPE written(void) /* each row anew, then used */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @written
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] = 3 * x[to[k]] - x[v] + t;
        for (int v = 0; v < DATA; v++) { // @applied
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += a[k] * x[to[k]];
            y[v] = sum;
        }
        settle(x, y);
    }
    told("written");
}

SHAPE late(void) /* the first row begins with the third datum; the data are cleared as a whole */
{
    fresh(4, 3);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    int low = row[0], high = row[DATA];
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = low; k < high; k++)
            a[k] = t;
        for (int v = 0; v < DATA; v++) // @late
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] += x[to[k]] * (v & 3);
        for (int v = 0; v < DATA; v++) { // @late_applied
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum ^= a[k] + x[to[k]];
            y[v] = sum;
        }
        settle(x, y);
    }
    told("late");
}

SHAPE picked(void) /* each datum of a row is made of its own row and of the one that it names */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @picked
            for (int k = row[v]; k < row[v + 1]; k++) {
                int u = to[k];
                long common = t;
                for (int i = row[v]; i < row[v + 1]; i++)
                    for (int j = row[u]; j < row[u + 1]; j++)
                        common += to[i] == to[j] ? x[to[i]] : 1;
                a[k] = common;
            }
        for (int v = 0; v < DATA; v++) { // @picked_applied
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += a[k] * x[to[k]];
            y[v] = sum;
        }
        settle(x, y);
    }
    told("picked");
}

#define NAMES                                                                                                         \
    for (int k = row[v]; k < row[v + 1]; k++) {                                                                       \
        int u = to[k];                                                                                                \
        long common = x[v] + t;                                                                                       \
        for (int j = row[u]; j < row[u + 1]; j++)                                                                     \
            common += to[j] == to[k];                                                                                 \
        a[k] = common;                                                                                                \
    }

SHAPE beyond(void) /* rows that are written name others that are only read, by bounds behind theirs */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int k = 0; k < row[DATA]; k++)
        to[k] = DATA / 2 + 1 + to[k] / 4;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA / 2; v++) // @beyond
            NAMES
        settle(x, y);
    }
    told("beyond");
}

SHAPE behind(void) /* by bounds of which the first one is the end of the last row that is written */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int k = 0; k < row[DATA]; k++)
        to[k] = DATA / 2 + to[k] / 2;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA / 2; v++) // @behind
            NAMES
        settle(x, y);
    }
    told("behind");
}

SHAPE two_steps_away(void) /* rows are only read, but by an index too */
{
    fresh(4, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @two_steps_away
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                for (int j = row[to[k]]; j < row[to[k] + 1]; j++)
                    sum += a[k] * x[to[j]];
            y[v] = sum;
        }
        settle(x, y);
    }
    told("two_steps_away");
}

SHAPE assembled(void) /* cells add to whole rows of their corners */
{
    fresh(5, 0);
    int *row = row_, *to = to_, *at = ints(3 * JOBS, DATA);
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @assembled
            for (int i = 0; i < 3; i++)
                for (int k = row[at[3 * c + i]]; k < row[at[3 * c + i] + 1]; k++)
                    a[k] += to[k] == at[3 * c] ? x[at[3 * c + i]] : 1;
        for (int v = 0; v < DATA; v++) { // @assembled_applied
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += a[k] * x[to[k]];
            y[v] = sum & 1023;
        }
        settle(x, y);
    }
    told("assembled");
}

SHAPE diagonal(void) /* one datum of each row is known by its number, and each datum has a partner */
{
    fresh(5, 0);
    int *row = row_, *to = to_, n = row[DATA], *diag = ints(DATA, n), *back = ints(n, n);
    long *a = a_, *x = x_, *y = y_, *b = longs(n, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @diagonal
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] = b[back[k]] + x[to[k]] + v;
        for (int v = 0; v < DATA; v++) { // @divided
            long sum = a[diag[v]];
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += b[k] * a[k];
            y[v] = sum & 255;
        }
        for (int k = 0; k < n; k++)
            b[k] = a[k] & 31;
        settle(x, y);
    }
    show("diagonal", b, n);
    told("diagonal");
}

SHAPE by_entries(void) /* a loop over the data of all rows, beside loops over rows */
{
    fresh(5, 0);
    int *row = row_, *to = to_, n = row[DATA], *from = ints(n, DATA);
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < n; k++) // @by_entries
            a[k] = x[to[k]] - 2 * x[from[k]];
        for (int v = 0; v < DATA; v++) { // @by_rows
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++) {
                sum += a[k] * x[to[k]];
                a[k] = sum & 7;
            }
            y[v] = sum;
        }
        settle(x, y);
    }
    told("by_entries");
}

SHAPE halves(void) /* bounds of 16 bits, and a second array of data in the same rows */
{
    fresh(4, 0);
    int *to = to_;
    long *a = a_, *x = x_, *y = y_;
    short *row = calloc(DATA + 1, sizeof *row);
    for (int v = 0; v <= DATA; v++)
        row[v] = (short)row_[v];
    int *b = ints(row_[DATA] + 4, 40);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @halves
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++) {
                b[k] += (int)(x[to[k]] & 3);
                sum += a[k] += b[k];
            }
            y[v] = sum;
        }
        settle(x, y);
    }
    show_ints("halves", b, row_[DATA]);
    told("halves");
}

SHAPE members(void) /* all of it in a structure, whose pointers are loaded each time */
{
    fresh(5, 0);
    struct { int *row, *to; long *a; } *g = malloc(sizeof *g);
    g->row = row_, g->to = to_, g->a = a_;
    long *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @members
            y[v] = 0;
            for (int k = g->row[v]; k < g->row[v + 1]; k++) {
                g->a[k] = x[g->to[k]] & 63;
                y[v] += g->a[k];
            }
        }
        settle(x, y);
    }
    told("members");
}

SHAPE degrees(void) /* how long a row is, is a number of its own */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @degrees
            long sum = row[v + 1] - row[v];
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += a[k] = x[to[k]] & 63;
            y[v] = sum;
        }
        settle(x, y);
    }
    told("degrees");
}

SHAPE inside(void) /* some rows are in no loop over rows, but are cleared */
{
    fresh(5, 0);
    int *row = row_, *to = to_, n = row[DATA];
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < n; k++)
            a[k] = t + 1;
        for (int v = 1; v < DATA - 1; v++) // @inside
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] += x[to[k]] + v;
        for (int v = 0; v < DATA; v++) // @inside_shown
            y[v] = x[to[v]] + 1;
        settle(x, y);
    }
    told("inside");
}

SHAPE backwards(void) /* from the last datum of a row to its first */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @backwards
            for (int k = row[v + 1] - 1; k >= row[v]; k--)
                a[k] = x[to[k]] + t;
        settle(x, y);
    }
    told("backwards");
}

SHAPE last(void) /* the last datum of a row is reached from its end */
{
    fresh(4, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int v = 0; v <= DATA; v++)
        row[v] = 3 * v;
    to = ints(3 * DATA, DATA), a = longs(3 * DATA, 40);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @last
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] = x[to[k]] + v;
            y[v] = a[row[v + 1] - 1];
        }
        settle(x, y);
    }
    show("last", a, 3 * DATA);
    show("last", y, DATA);
}

SHAPE ahead(void) /* the first datum of the next row is read, too */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_, *b = longs(row[DATA] + 4, 50);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @ahead
            y[v] = b[row[v + 1]];
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] = b[k] + x[to[k]];
        }
        for (int k = 0; k < row[DATA]; k++)
            b[k] = a[k] & 31;
        settle(x, y);
    }
    show("ahead", b, row[DATA]);
    told("ahead");
}

SHAPE folded(void) /* rows that overlap: the second ends where the third does */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *b = longs(row[DATA] + 4, 9), *x = x_, *y = y_;
    row[DATA / 2] = row[DATA / 2 + 1] + 3;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @folded
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += a[k] += b[k] * x[to[k]];
            y[v] = sum & 511;
        }
        settle(x, y);
    }
    told("folded");
}

SHAPE shared(void) /* rows of one array by two arrays of bounds */
{
    fresh(5, 0);
    int *row = row_, *to = to_, *other = calloc(DATA + 1, sizeof *other);
    long *a = a_, *x = x_, *y = y_;
    for (int v = 0; v <= DATA; v++)
        other[v] = (int)((long)row[DATA] * v / DATA);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @shared
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] = x[to[k]] + v;
        for (int v = 0; v < DATA; v++) { // @shared_too
            long sum = 0;
            for (int k = other[v]; k < other[v + 1]; k++)
                sum += a[k] * x[to[k]];
            y[v] = sum;
        }
        settle(x, y);
    }
    told("shared");
}

SHAPE rest(void) /* the loop leaves out the first datum of each row, which is read before it */
{
    fresh(4, 0);
    int *row = row_, *to = ints(5 * DATA, DATA);
    long *a = longs(5 * DATA, 40), *x = x_, *y = y_;
    for (int v = 0; v <= DATA; v++)
        row[v] += v; /* no row is empty */
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @rest
            long sum = a[row[v]] * x[v];
            for (int k = row[v] + 1; k < row[v + 1]; k++) {
                a[k] += x[to[k]] & 3;
                sum += a[k];
            }
            y[v] = sum;
        }
        settle(x, y);
    }
    show("rest", a, row[DATA]);
    show("rest", y, DATA);
}

SHAPE empty(void) /* the same, but from an empty row the first datum of the next one is read */
{
    fresh(4, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @empty
            long sum = a[row[v]] * x[v];
            for (int k = row[v] + 1; k < row[v + 1]; k++)
                sum += a[k] * x[to[k]];
            y[v] = sum;
        }
        for (int k = 0; k < row[DATA]; k++)
            a[k] = (a[k] & 15) + 1;
        settle(x, y);
    }
    told("empty");
}

SHAPE counted(void) /* a loop over the rows runs by how many data there are, after they were counted */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @counted
            long sum = t;
            for (int i = 0; i < row[v + 1] - row[v]; i++) {
                a[row[v] + i] += x[to[row[v] + i]] & 1;
                sum += a[row[v] + i];
            }
            y[v] = sum;
        }
        settle(x, y);
    }
    told("counted");
}

SHAPE computed(void) /* what rows name is calculated with, for data that stay where they are */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_, *s = longs(DATA, 30);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @computed
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += a[k] = x[to[k]] + s[(to[k] * 7 + 1) % DATA];
            y[v] = sum;
        }
        settle(x, y);
    }
    told("computed");
}

SHAPE unreached(void) /* one of two statements never runs: nothing says where its data would be */
{
    fresh(5, 0);
    int *row = row_, *to = to_, *at = ints(JOBS, DATA);
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int c = 0; c < JOBS; c++) // @unreached
            for (int k = row[at[c]]; k < row[at[c] + 1]; k++)
                if (to[k] == DATA)
                    a[k] += x[at[c]];
        for (int v = 0; v < DATA; v++) { // @unreached_applied
            long sum = 0;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += a[k] * x[to[k]];
            y[v] = sum & 1023;
        }
        settle(x, y);
    }
    told("unreached");
}

SHAPE moving(void) /* the bounds are other ones in each step */
{
    fresh(5, 0);
    int *row = row_, *to = to_;
    long *a = a_, *x = x_, *y = y_;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @moving
            for (int k = row[v]; k < row[v + 1]; k++)
                a[k] = x[to[k]] + v;
        for (int v = 1; v < DATA; v++)
            row[v] = (row[v - 1] + row[v + 1]) / 2;
        settle(x, y);
    }
    told("moving");
}

int main(void)
{
    written();
    late();
    picked();
    beyond();
    behind();
    two_steps_away();
    assembled();
    diagonal();
    by_entries();
    halves();
    members();
    degrees();
    inside();
    backwards();
    last();
    ahead();
    folded();
    shared();
    rest();
    empty();
    counted();
    computed();
    unreached();
    moving();
    return 0;
}
