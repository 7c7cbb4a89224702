/* Indices behind masks and other operations whose second operand the compiler does not know: what an address is linear
   in for these numbers, and what the code does with new ones, are two questions that need one answer. */
static volatile int given_[] = {255, 511, -1, -8, 0, 127, 3, 1, 65535, 31, 7, 200};
enum { COVERS, WIDER, ALL, EIGHTS, NONE, CUTS, TWO_BITS, ONE, SHORT, FIVE_BITS, THREE_BITS, LENGTH };

SHAPE covering_mask(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @covering_mask
            y[a[e]] += x[b[e] & mask];
    show("covering_mask", y, DATA);
}

SHAPE mask_on_both_sides(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[WIDER];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @mask_on_both_sides
            y[a[e] & mask] += x[mask & b[e]];
    show("mask_on_both_sides", y, DATA);
}

SHAPE mask_of_all_bits(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[ALL];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @mask_of_all_bits
            y[a[e]] += x[b[e] & mask];
    show("mask_of_all_bits", y, DATA);
}

SHAPE mask_of_eights(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA / 8), mask = given_[EIGHTS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @mask_of_eights
            y[a[e]] += x[(8 * b[e]) & mask];
    show("mask_of_eights", y, DATA);
}

SHAPE mask_of_nothing(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[NONE];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @mask_of_nothing
            y[a[e]] += x[b[e] & mask];
    show("mask_of_nothing", y, DATA);
}

SHAPE cutting_mask(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[CUTS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @cutting_mask
            y[a[e]] += x[b[e] & mask];
    show("cutting_mask", y, DATA);
}

SHAPE masked_and_plain(void) /* the same index with its mask and without it, and as data */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @masked_and_plain
            y[a[e]] += x[b[e] & mask] - 3 * x[b[e]] + (b[e] & mask);
    show("masked_and_plain", y, DATA);
}

SHAPE doubled_by_its_mask(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA / 2), mask = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @doubled_by_its_mask
            y[a[e]] += x[b[e] + (b[e] & mask)];
    show("doubled_by_its_mask", y, DATA);
}

SHAPE mask_that_changes(void) /* another one in each sweep */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < 2 * SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @mask_that_changes
            y[a[e]] += x[b[e] & mask];
        mask = t % 2 ? given_[COVERS] : given_[FIVE_BITS];
    }
    show("mask_that_changes", y, DATA);
}

SHAPE mask_of_the_sweep(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask[2 * SWEEPS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < 2 * SWEEPS; t++)
        mask[t] = t < 3 ? given_[COVERS] : given_[CUTS] >> t;
    for (int t = 0; t < 2 * SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @mask_of_the_sweep
            y[a[e]] += x[b[e] & mask[t]];
    show("mask_of_the_sweep", y, DATA);
}

static long mask_ = 255, *volatile where_ = &mask_;
SHAPE loaded_mask(void) /* again in each iteration: what is written may be it */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *mask = where_;
    where_ = y;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @loaded_mask
            y[a[e]] += x[b[e] & *mask];
    show("loaded_mask", y, DATA);
}

SHAPE masked_counter(void) /* a copy in the order of the jobs */
{
    int *a = ints(JOBS, DATA), mask = given_[SHORT];
    long *w = longs(JOBS, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @masked_counter
            y[a[e]] += w[e & mask];
    show("masked_counter", y, DATA);
}

SHAPE masked_index_arrays(void) /* the place of the index, too */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), mask = given_[SHORT], fewer = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @masked_index_arrays
            y[a[e & mask] & fewer] += x[b[e & mask] & fewer];
    show("masked_index_arrays", y, DATA);
}

SHAPE masked_map(void)
{
    int *a = ints(JOBS, 250), *map = ints(256, DATA), mask = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(256, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @masked_map
            x[map[a[e] & mask] & mask] += e;
            y[a[e] & mask] += 3;
        }
    show("masked_map", x, DATA);
    show("masked_map", y, 256);
}

SHAPE masked_own_record(void) /* written by its own iteration, which the order of the data goes with */
{
    int *a = ints(DATA, DATA), mask = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @masked_own_record
            y[v & mask] = x[a[v] & mask] + t;
        for (int v = 0; v < DATA; v++)
            x[v & mask] = y[v & mask] ^ 5;
    }
    show("masked_own_record", x, DATA);
}

SHAPE masked_companion(void)
{
    int *a = ints(JOBS, DATA), mask = given_[COVERS];
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @masked_companion
            x[a[e]] += e;
        for (int v = 0; v < DATA; v++)
            x[v & mask] *= 3;
    }
    show("masked_companion", x, DATA);
}

SHAPE masked_narrow(void) /* new numbers have to fit the mask as well as the old ones */
{
    unsigned char *b = bytes(JOBS, 30);
    int *a = ints(JOBS, DATA), mask = given_[FIVE_BITS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @masked_narrow
            y[a[e]] += x[b[e] & mask] + x[a[e]];
    show("masked_narrow", y, DATA);
}

SHAPE masked_pieces(void) /* pieces that overlap become longer in a copy */
{
    int *row = malloc((DATA + 1) * sizeof *row), *end = malloc(DATA * sizeof *end), mask = given_[WIDER];
    int *col = ints(512, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int v = 0; v < DATA; v++) {
        row[v] = 2 * v;
        end[v] = row[v] + 4;
    }
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) // @masked_pieces
            for (int k = row[v]; k < end[v]; k++)
                y[v] += x[col[k & mask]];
    show("masked_pieces", y, DATA);
}

SHAPE masked_bounds(void)
{
    int *row = offsets(DATA, 4), mask = (1 << 10) - given_[ONE];
    int *col = ints(row[DATA] + 1, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) // @masked_bounds
            for (int k = row[v] & mask; k < (row[v + 1] & mask); k++)
                y[v] += x[col[k]];
    show("masked_bounds", y, DATA);
}

SHAPE shifted_by(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA / 8), by = given_[TWO_BITS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @shifted_by
            y[a[e]] += x[b[e] << by];
    show("shifted_by", y, DATA);
}

SHAPE shifted_right_by(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), by = given_[NONE];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @shifted_right_by
            y[a[e]] += x[b[e] >> by];
    show("shifted_right_by", y, DATA);
}

SHAPE times(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA / 3), by = given_[TWO_BITS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @times
            y[a[e]] += x[by * b[e]];
    show("times", y, DATA);
}

SHAPE modulo(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), length = given_[LENGTH];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @modulo
            y[a[e]] += x[b[e] % length];
    show("modulo", y, DATA);
}

SHAPE or_nothing(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA), bits = given_[NONE];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @or_nothing
            y[a[e]] += x[b[e] | bits] - x[b[e] ^ bits];
    show("or_nothing", y, DATA);
}

SHAPE or_low_bits(void) /* an addition, as the compiler sees: of a number that has its low bits free */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA / 4), low = given_[TWO_BITS] & 3;
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @or_low_bits
            y[a[e]] += x[(b[e] << 2) | low] + x[(b[e] << 2) | 1];
    show("or_low_bits", y, DATA);
}

SHAPE promised_even(void) /* what the compiler is told of the old numbers is not true of new ones */
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int e = 0; e < JOBS; e++)
        b[e] &= ~1;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @promised_even
            int j = b[e];
            if (j & 1)
                __builtin_unreachable();
            y[a[e]] += x[j | 1] + x[a[e]];
        }
    show("promised_even", y, DATA);
}

SHAPE bools(void) /* 0 or 1, and as new numbers anything */
{
    bool *b = malloc(JOBS * sizeof *b);
    int *a = ints(JOBS, DATA), mask = given_[ONE];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int e = 0; e < JOBS; e++)
        b[e] = draw() & 1;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @bools
            y[a[e]] += x[b[e] & mask] + x[a[e]] + x[b[e]];
    show("bools", y, DATA);
}

SHAPE masked_unsigned(void)
{
    unsigned *b = malloc(JOBS * sizeof *b), mask = (unsigned)given_[COVERS];
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int e = 0; e < JOBS; e++)
        b[e] = draw() % DATA;
    for (int t = 0; t < SWEEPS; t++)
        for (unsigned e = 0; e < JOBS; e++) // @masked_unsigned
            y[a[e & 0xffffu]] += x[b[e] & mask];
    show("masked_unsigned", y, DATA);
}

SHAPE masked_stores(void) /* what is written has its own place each time */
{
    int *p = permutation(DATA), mask = given_[COVERS];
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < DATA; e++) // @masked_stores
            y[p[e] & mask] = x[p[e]] + e;
        x[t] += y[0];
    }
    show("masked_stores", y, DATA);
}

int main(void)
{
    covering_mask();
    mask_on_both_sides();
    mask_of_all_bits();
    mask_of_eights();
    mask_of_nothing();
    cutting_mask();
    masked_and_plain();
    doubled_by_its_mask();
    mask_that_changes();
    mask_of_the_sweep();
    loaded_mask();
    masked_counter();
    masked_index_arrays();
    masked_map();
    masked_own_record();
    masked_companion();
    masked_narrow();
    masked_pieces();
    masked_bounds();
    shifted_by();
    shifted_right_by();
    times();
    modulo();
    or_nothing();
    or_low_bits();
    promised_even();
    bools();
    masked_unsigned();
    masked_stores();
    return 0;
}
