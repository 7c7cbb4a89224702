/* Products of compressed rows. `scale` holds alpha and beta; y is not read where beta is 0. */

static inline VALUE NAME(scaled)(VALUE sum, VALUE old, const VALUE *scale, int plain)
{
    if (plain)
        return sum;
    VALUE found = MUL(scale[0], sum);
    return IS(scale[1], 0) ? found : found + MUL(scale[1], old);
}

/* Four sums hide the latency of additions in long rows; short rows end before that helps. */
static inline VALUE NAME(row)(u64 from, u64 to, const INDEX *columns, const VALUE *values, const VALUE *x)
{
    VALUE a = 0;
    if (to - from >= 8) {
        VALUE b = 0, c = 0, d = 0;
        for (; from + 4 <= to; from += 4) {
            STREAMED(values + from + 1024 / sizeof(VALUE));
            STREAMED(columns + from + 1024 / sizeof(INDEX));
            a += MUL(values[from], x[columns[from]]);
            b += MUL(values[from + 1], x[columns[from + 1]]);
            c += MUL(values[from + 2], x[columns[from + 2]]);
            d += MUL(values[from + 3], x[columns[from + 3]]);
        }
        a = (a + b) + (c + d);
    }
    for (; from < to; from++)
        a += MUL(values[from], x[columns[from]]);
    return a;
}

/* y = alpha A x + beta y */
void NAME(csr_times)(u64 first, u64 last, const INDEX *offsets, const INDEX *columns, const VALUE *values,
                     const VALUE *x, VALUE *y, const VALUE *scale)
{
    int plain = IS(scale[0], 1) && IS(scale[1], 0);
    if (plain) {
        for (u64 i = first; i < last; i++)
            y[i] = NAME(row)(offsets[i], offsets[i + 1], columns, values, x);
        return;
    }
    for (u64 i = first; i < last; i++) {
        VALUE sum = NAME(row)(offsets[i], offsets[i + 1], columns, values, x);
        y[i] = NAME(scaled)(sum, y[i], scale, 0);
    }
}

/* Y = alpha A X + beta Y, `count` right-hand sides side by side: X is (columns, count) row by row. Row i of the arrays
   is row which[i] of Y where `which` is there. */
void NAME(csr_times_rows)(u64 first, u64 last, const u32 *which, const INDEX *offsets, const INDEX *columns, const VALUE *values,
                          const VALUE *x, VALUE *y, const VALUE *scale, u64 count)
{
    int plain = IS(scale[0], 1) && IS(scale[1], 0);
    for (u64 i = first; i < last; i++) {
        u64 from = offsets[i], to = offsets[i + 1], line = which ? which[i] : i;
        for (u64 at = 0; at < count; at += WIDTH) {
            VALUE sums[WIDTH];
            for (int r = 0; r < WIDTH; r++)
                sums[r] = 0;
            u64 width = count - at < WIDTH ? count - at : WIDTH;
            if (width == WIDTH)
                for (u64 k = from; k < to; k++) {
                    const VALUE *row = x + (u64)columns[k] * count + at;
                    for (int r = 0; r < WIDTH; r++)
                        sums[r] += MUL(values[k], row[r]);
                }
            else
                for (u64 k = from; k < to; k++) {
                    const VALUE *row = x + (u64)columns[k] * count + at;
                    for (u64 r = 0; r < width; r++)
                        sums[r] += MUL(values[k], row[r]);
                }
            for (u64 r = 0; r < width; r++)
                y[line * count + at + r] = NAME(scaled)(sums[r], y[line * count + at + r], scale, plain);
        }
    }
}

/* Y = alpha transposed(A) X + beta Y, row after row. */
void NAME(csr_transposed_times)(u64 rows, u64 cols, const INDEX *offsets, const INDEX *columns, const VALUE *values,
                                const VALUE *x, VALUE *y, const VALUE *scale, u64 count)
{
    for (u64 j = 0; j < cols * count; j++)
        y[j] = IS(scale[1], 0) ? (VALUE)0 : MUL(scale[1], y[j]);
    for (u64 i = 0; i < rows; i++)
        for (u64 r = 0; r < count; r++) {
            VALUE own = MUL(scale[0], x[i * count + r]);
            for (u64 k = offsets[i]; k < offsets[i + 1]; k++)
                y[(u64)columns[k] * count + r] += MUL(values[k], own);
        }
}

/* The compressed rows of the transposed matrix, entries of a row in the order of `offsets`. `starts` has cols + 2
   zeros in front, and its first cols + 1 entries are the offsets afterwards. `places[k]` is where an entry came from. */
void NAME(csr_transpose)(u64 rows, u64 cols, const INDEX *offsets, const INDEX *columns, const VALUE *values,
                         INDEX *starts, INDEX *rows_of, VALUE *moved, INDEX *places)
{
    for (u64 k = 0; k < offsets[rows]; k++)
        starts[columns[k] + 2]++;
    for (u64 j = 0; j < cols; j++)
        starts[j + 2] += starts[j + 1];
    for (u64 i = 0; i < rows; i++)
        for (u64 k = offsets[i]; k < offsets[i + 1]; k++) {
            INDEX at = starts[columns[k] + 1]++;
            rows_of[at] = (INDEX)i;
            moved[at] = values[k];
            if (places)
                places[at] = (INDEX)k;
        }
}
