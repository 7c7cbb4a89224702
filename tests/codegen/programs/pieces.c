/* Records that other loops walk piece by piece, numbers that are masked, and data that have to stay. */
SHAPE flat(void) /* a loop over the pieces of all records, and a sum over them */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(3 * DATA, 100), *y = longs(3 * DATA, 100), sum = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @flat
            for (int c = 0; c < 3; c++)
                y[3 * a[e] + c] += x[3 * b[e] + 2 - c] + c;
        for (int i = 0; i < 3 * DATA; i++)
            x[i] += y[i] & 1;
        for (int i = 0; i < 3 * DATA; i++)
            sum += x[i] * x[i];
    }
    show("flat", y, 3 * DATA);
    printf("%ld\n", sum);
}

SHAPE flat_middle(void) /* whole records, but not all of them: the others keep to themselves */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(4 * DATA, 100), *y = longs(4 * DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @flat_middle
            for (int c = 0; c < 4; c++)
                y[4 * a[e] + c] += x[4 * b[e] + 3 - c] + c;
        for (int i = 4 * 10; i < 4 * 150; i++)
            x[i] += y[i] & 1;
    }
    show("flat_middle", y, 4 * DATA);
}

SHAPE flat_part(void) /* it ends inside of a record */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(3 * DATA, 100), *y = longs(3 * DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @flat_part
            for (int c = 0; c < 3; c++)
                y[3 * a[e] + c] += x[3 * b[e] + 2 - c] + c;
        for (int i = 0; i < 3 * DATA - 1; i++)
            x[i] += y[i] & 1;
    }
    show("flat_part", y, 3 * DATA);
}

SHAPE flat_shifted(void) /* one piece further in one array than in the other */
{
    int *a = ints(JOBS, DATA - 1), *b = ints(JOBS, DATA);
    long *x = longs(3 * DATA, 100), *y = longs(3 * DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @flat_shifted
            for (int c = 0; c < 3; c++)
                y[3 * a[e] + c] += x[3 * b[e] + 2 - c] + c;
        for (int i = 0; i < 3 * (DATA - 1); i++)
            x[i] += y[i + 1] & 1;
    }
    show("flat_shifted", y, 3 * DATA);
}

SHAPE two_sizes(void) /* an iteration of the other loop is a third of one record, and the whole of another */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, 3 * DATA);
    long *x = longs(3 * DATA, 100), *y = longs(3 * DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @two_sizes
            for (int c = 0; c < 3; c++)
                y[3 * a[e] + c] += x[b[e]] + c;
        for (int i = 0; i < 3 * DATA; i++)
            x[i] += y[i] & 1;
    }
    show("two_sizes", y, 3 * DATA);
}

SHAPE cut_number(void) /* the other loop picks by a number of one byte */
{
    int *a = ints(JOBS, DATA * 2), *b = ints(JOBS, DATA * 2);
    long *x = longs(DATA * 2, 100), *y = longs(DATA * 2, 100), *few = longs(256, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @cut_number
            y[a[e]] += x[b[e]];
        for (int v = 0; v < DATA * 2; v++)
            x[v] += few[(unsigned char)v] + (y[v] & 1);
    }
    show("cut_number", y, DATA * 2);
}

SHAPE masked_number(void) /* and by the last bits of one */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 100), *few = longs(8, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @masked_number
            y[a[e]] += x[b[e]] + few[e & 7] + few[a[e] & 7];
        for (int v = 0; v < DATA; v++)
            x[v] += few[v & 7] + (y[v] & 1);
    }
    show("masked_number", y, DATA);
}

SHAPE copied_rows(void) /* a record of each job is copied as a whole, from a local one */
{
    int *rp = offsets(DATA, 6), *col = ints(rp[DATA], DATA);
    long *x = longs(8 * DATA, 100), *y = longs(8 * DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) { // @copied_rows
            long sum[8] = {0};
            for (int j = rp[i]; j < rp[i + 1]; j++)
                for (int c = 0; c < 8; c++)
                    sum[c] += x[col[j] * 8 + c] * (c + 1);
            for (int c = 0; c < 8; c++)
                y[i * 8 + c] = sum[c];
        }
        for (int i = 0; i < DATA * 8; i++)
            x[i] = y[i] & 15;
    }
    show("copied_rows", x, 8 * DATA);
}

typedef struct {
    long place, gain;
} particle;

SHAPE staying(void) /* an index reaches what stays at several distances; what a job has of its own moves with it */
{
    int *cell = ints(JOBS, DATA - 30);
    long *field = longs(DATA, 100), *charge = longs(DATA, 9);
    particle *p = malloc(JOBS * sizeof *p);
    for (int e = 0; e < JOBS; e++)
        p[e].place = (long)(draw() % 100), p[e].gain = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @staying
            int c = cell[e];
            p[e].gain += field[c] + field[c + 1] + p[e].place * field[c + 24];
            charge[c] += p[e].place, charge[c + 24] += 1;
        }
        for (int v = 0; v < DATA; v++)
            field[v] += charge[v] & 3;
    }
    long sum = 0;
    for (int e = 0; e < JOBS; e++)
        sum = sum * 31 + p[e].gain;
    printf("staying %ld\n", sum);
}

SHAPE far_apart(void) /* few lines that stay, far from each other */
{
    long *key = longs(JOBS, 50), *table = calloc(1 << 16, sizeof *table);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @far_apart
            table[key[e] * 1024] += key[e];
            table[key[e] * 1024 + 4096] += 1;
        }
    show("far_apart", table, 1 << 16);
}

SHAPE same_starts(void) /* two loops over pieces that start at the same places and end at others */
{
    int *rp = offsets(DATA, 9), *end = malloc(DATA * sizeof *end), *col = ints(rp[DATA], DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *z = longs(DATA, 9);
    for (int i = 0; i < DATA; i++)
        end[i] = rp[i] + (rp[i + 1] - rp[i]) / 2;
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @same_starts
            for (int j = rp[i]; j < end[i]; j++)
                z[i] += x[col[j]];
        for (int i = 0; i < DATA; i++) // @same_starts_all
            for (int j = rp[i]; j < rp[i + 1]; j++)
                y[i] += x[col[j]];
        for (int i = 0; i < DATA; i++)
            x[i] = (y[i] + z[i]) & 15;
    }
    show("same_starts", x, DATA);
}

struct rows {
    int *first, *of;
    long *x, *y;
} *known; /* elsewhere, too, as far as a compiler can tell */

SHAPE object_rows(void) /* the arrays are members of an object, whose pointers every step loads */
{
    struct rows *m = known = malloc(sizeof *m);
    m->first = offsets(DATA, 9), m->of = ints(m->first[DATA], DATA);
    m->x = longs(DATA, 100), m->y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < DATA; i++) // @object_rows
            for (int j = m->first[i]; j < m->first[i + 1]; j++)
                m->y[i] += m->x[m->of[j]];
        for (int i = 0; i < DATA; i++)
            m->x[i] = m->y[i] & 15;
        printf("object_rows %ld\n", m->x[0]);
    }
    show("object_rows", m->x, DATA);
}

int main(void)
{
    flat(), flat_middle(), flat_part(), flat_shifted(), two_sizes(), cut_number(), masked_number(), copied_rows();
    staying(), far_apart(), same_starts(), object_rows();
    return 0;
}
