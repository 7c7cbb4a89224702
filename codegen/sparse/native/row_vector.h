/* Rows one after the other, LONG entries of a row at a time: for rows of more than a few entries. Lane l of the sums
   takes the entries l, l + LONG and so on, with gather instructions or without: the bits are the same. */
static inline VALUE NAME(long_row)(u64 from, u64 to, const INDEX *columns, const VALUE *values, const VALUE *x)
{
#if defined(GATHER_ALL) && INDEX_BITS == 32
    return GATHER_ALL(to - from, columns + from, values + from, x);
#else
    VALUE sums[LONG];
    for (int l = 0; l < LONG; l++)
        sums[l] = 0;
    for (; from + LONG <= to; from += LONG) {
        STREAMED(values + from + 1024 / sizeof(VALUE));
        STREAMED(columns + from + 1024 / sizeof(INDEX));
        for (int l = 0; l < LONG; l++)
            sums[l] += MUL(values[from + l], x[columns[from + l]]);
    }
    for (int l = 0; from + l < to; l++)
        sums[l] += MUL(values[from + l], x[columns[from + l]]);
    for (int half = LONG / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            sums[l] += sums[l + half];
    return sums[0];
#endif
}

/* y = alpha A x + beta y; row i of the arrays is row which[i] of y where `which` is there. */
void NAME(row_vector_times)(u64 first, u64 last, const u32 *which, const INDEX *offsets, const INDEX *columns,
                            const VALUE *values, const VALUE *x, VALUE *y, const VALUE *scale)
{
    int plain = IS(scale[0], 1) && IS(scale[1], 0);
    for (u64 i = first; i < last; i++) {
        u64 row = which ? which[i] : i;
        VALUE sum = NAME(long_row)(offsets[i], offsets[i + 1], columns, values, x);
        y[row] = NAME(scaled)(sum, y[row], scale, plain);
    }
}
