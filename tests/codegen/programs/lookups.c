/* Loops beside the hot one that need the program's own numbers: they run as they are, and look each record up. */

#define GIVEN                                                                                                          \
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);                                                                  \
    long *x = longs(DATA, 1000), *r = longs(DATA, 1000), *w = longs(JOBS, 9)
#define HOT(X, R)                                                                                                      \
    R[a[j]] += w[j] * (X[b[j]] - X[a[j]]);                                                                             \
    R[b[j]] -= w[j] * (X[b[j]] - X[a[j]])
#define EVERY(V) for (long V = 0; V < DATA; V++)
#define ADVANCE EVERY(v) x[v] = (x[v] + r[v]) & 1023

SHAPE largest(void) /* and its place: of several, the first */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @largest
            HOT(x, r);
        }
        ADVANCE;
        long most = -1, where = -1;
        EVERY(v)
            if (x[v] > most) {
                most = x[v];
                where = v;
            }
        printf("largest %ld %ld\n", most, where);
    }
    show("largest", r, DATA);
}

SHAPE first_above(void) /* left at the first; the scope itself may be left */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @first_above
            HOT(x, r);
        }
        ADVANCE;
        int calm = 1;
        EVERY(v)
            if (x[v] > 1000) {
                printf("above %ld\n", v);
                calm = 0;
                break;
            }
        if (calm)
            break;
    }
    show("first_above", x, DATA);
}

SHAPE listed(void) /* a list of numbers, in the order of the program, which the next loop reads */
{
    GIVEN;
    int *list = ints(DATA, 1);
    long count = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @listed
            HOT(x, r);
        }
        ADVANCE;
        count = 0;
        EVERY(v)
            if (x[v] > 500)
                list[count++] = (int)v;
        for (long k = 0; k + 1 < count; k++)
            x[list[k]] = (x[list[k]] + 3 * x[list[k + 1]]) & 1023;
    }
    show("listed", x, DATA);
    show_ints("listed", list, count);
}

SHAPE running_sum(void)
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @running_sum
            HOT(x, r);
        }
        long sum = t;
        EVERY(v)
        {
            sum = (sum * 5 + r[v]) & 1023;
            x[v] = sum;
        }
    }
    show("running_sum", x, DATA);
}

SHAPE every_seventh(void)
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @every_seventh
            HOT(x, r);
        }
        ADVANCE;
        for (long v = t; v < DATA; v += 7)
            x[v] = (x[v] * 3 + 1) & 1023;
    }
    show("every_seventh", x, DATA);
}

SHAPE neighbours(void) /* by number, of an array that moves and one that need not */
{
    GIVEN;
    long *old = longs(DATA, 10);
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @neighbours
            HOT(x, r);
        }
        ADVANCE;
        for (long v = 1; v < DATA - 1; v++)
            old[v] = x[v - 1] + 2 * x[v] + x[v + 1];
        for (long v = 1; v < DATA - 1; v++)
            x[v] = (x[v] + old[v] - old[v - 1]) & 1023;
    }
    show("neighbours", x, DATA);
    show("neighbours", old, DATA);
}

SHAPE points_sorted(void) /* records of three fields, two of them of half the width; one is swapped through the whole */
{
    GIVEN;
    struct point {
        long value;
        int mark;
        short rank, age;
    } *p = malloc(DATA * sizeof *p);
    EVERY(v) p[v] = (struct point){x[v], (int)(x[v] & 7), (short)v, 0};
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @points_sorted
            r[a[j]] += w[j] * p[b[j]].value;
            p[a[j]].mark ^= (int)w[j];
        }
        for (long v = 1; v < DATA; v++)
            if (p[v - 1].value > p[v].value) { /* one pass of a sort, of two fields */
                long value = p[v].value;
                short rank = p[v].rank;
                p[v].value = p[v - 1].value;
                p[v].rank = p[v - 1].rank;
                p[v - 1].value = value;
                p[v - 1].rank = rank;
                p[v].age++;
            }
        EVERY(v) p[v].value = (p[v].value + r[v]) & 1023;
    }
    long sum = 0;
    EVERY(v) sum = sum * 31 + p[v].value + 7 * p[v].mark + 3 * p[v].rank + p[v].age;
    printf("points_sorted %ld\n", sum);
}

SHAPE two_arrays(void) /* in one object: which of them an access of the last loop reaches, data decide */
{
    GIVEN;
    long *both = longs(2 * DATA, 1000), *u = both, *f = both + DATA;
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @two_arrays
            HOT(u, f);
        }
        EVERY(v) u[v] = (u[v] + f[v]) & 1023;
        long at = 0;
        for (int k = 0; k < 50; k++) { /* a walk that follows what it finds, over both */
            at = ((at + both[at]) & 0x7fffffff) % (2 * DATA);
            both[at] = (both[at] + k) & 1023;
        }
        printf("two_arrays %ld\n", at);
    }
    show("two_arrays", both, 2 * DATA);
    show("two_arrays", x, DATA);
}

SHAPE swapped_sum(void) /* buffers that change places */
{
    GIVEN;
    long *y = longs(DATA, 1000);
    for (int t = 0; t < SWEEPS + 2; t++) {
        for (long j = 0; j < JOBS; j++) { // @swapped_sum
            y[a[j]] += w[j] * x[b[j]];
        }
        long sum = 0;
        EVERY(v)
        {
            sum = (sum * 3 + y[v]) & 1023;
            y[v] = sum;
        }
        long *z = x;
        x = y;
        y = z;
    }
    show("swapped_sum", x, DATA);
    show("swapped_sum", y, DATA);
}

SHAPE in_passing(void) /* once a step, a number that the step decides; and a block that moves as a whole */
{
    GIVEN;
    long *old = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @in_passing
            HOT(x, r);
        }
        ADVANCE;
        x[(t * 37 + 5) % DATA] += 11;
        memcpy(old, x, DATA * sizeof *x);
        long sum = 0;
        EVERY(v) sum = (sum * 7 + old[v]) & 65535;
        printf("in_passing %ld %ld\n", sum, x[sum % DATA]);
    }
    show("in_passing", x, DATA);
}

static void spread(long *restrict to, const long *restrict from, const int *restrict at)
{
    for (long j = 0; j < JOBS; j++) // @told_apart
        to[at[j]] += from[j % DATA] & 7;
}

SHAPE told_apart(void) /* what a function may change is told apart by its author; the loop beside it writes it all */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        spread(r, x, a);
        long sum = t;
        EVERY(v)
        {
            sum = (sum * 3 + r[v]) & 1023;
            x[v] += sum;
            r[v] ^= x[v] & 3;
        }
    }
    show("told_apart", x, DATA);
    show("told_apart", r, DATA);
}

SHAPE probed(void) /* a loop over indices that has to keep its order, and computes where else it goes */
{
    GIVEN;
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @probed
            HOT(x, r);
        }
        ADVANCE;
        for (long k = 0; k < JOBS / 4; k++) {
            long at = a[k];
            x[at] = (x[at] * 3 + x[(at * 7 + k) % DATA]) & 1023;
        }
    }
    show("probed", x, DATA);
}

SHAPE packed(void) /* records that begin anywhere: what is promised of an address does not keep it in one */
{
    GIVEN;
    struct __attribute__((packed)) point {
        long value;
        char mark;
    } *p = malloc(DATA * sizeof *p);
    EVERY(v) p[v] = (struct point){x[v], 0};
    for (int t = 0; t < SWEEPS; t++) {
        for (long j = 0; j < JOBS; j++) { // @packed
            r[a[j]] += w[j] * p[b[j]].value;
        }
        long sum = 0;
        EVERY(v)
        {
            sum = (sum * 3 + p[v].value) & 1023;
            p[v].value = sum;
        }
    }
    long sum = 0;
    EVERY(v) sum = sum * 31 + p[v].value;
    printf("packed %ld\n", sum);
}

SHAPE own_numbers(void) /* nodes that hold the number of another one, which a list reads too */
{
    GIVEN;
    struct node {
        long value;
        long next;
    } *p = malloc(DATA * sizeof *p);
    EVERY(v) p[v] = (struct node){x[v], (v * 7 + 3) % DATA};
    for (int t = 0; t < SWEEPS; t++) {
        for (long v = 0; v < DATA; v++) { // @own_numbers
            r[v] += p[p[v].next].value;
        }
        for (long k = 0, at = 0; k < 20; k++) {
            p[at].value = (p[at].value * 5 + k) & 1023;
            at = p[at].next;
        }
        EVERY(v) p[v].value = (p[v].value + r[v]) & 1023;
    }
    long sum = 0;
    EVERY(v) sum = sum * 31 + p[v].value + p[v].next;
    printf("own_numbers %ld\n", sum);
    show("own_numbers", r, DATA);
}

SHAPE beside_rows(void) /* pointers to rows are loaded in front of what is stored */
{
    GIVEN;
    long **row = malloc(DATA * sizeof *row);
    EVERY(v) row[v] = longs(2 + v % 3, 50);
    for (int t = 0; t < SWEEPS; t++) {
        for (long v = 0; v < DATA; v++) { // @beside_rows
            for (long k = 0; k < 2 + v % 3; k++)
                r[a[v]] += row[v][k] * x[b[v]];
        }
        long sum = t;
        EVERY(v)
        {
            const long *mine = row[v];
            sum = (sum * 3 + r[v] + mine[0]) & 1023;
            x[v] = sum + mine[1];
        }
    }
    show("beside_rows", x, DATA);
    show("beside_rows", r, DATA);
    show("beside_rows", w, JOBS);
}

int main(void)
{
    beside_rows();
    largest();
    first_above();
    listed();
    running_sum();
    every_seventh();
    neighbours();
    points_sorted();
    two_arrays();
    swapped_sum();
    in_passing();
    told_apart();
    probed();
    packed();
    own_numbers();
    return 0;
}
