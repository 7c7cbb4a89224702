/* Rows in slices of LANES: a slice holds the first entries of its rows side by side, then the second ones, and so on.
   Rows of about equal length share a slice; what is padded has the value 0 and a column of its own row. Columns count
   from the first one of the slice, in 16 bits where they fit (in 32 otherwise: two words, low one first). */

static inline VALUE NAMED(lane_sum, VALUE, sliced)(u64 from, u64 length, const u16 *narrow, const u32 *wide,
                                                   const VALUE *values, const VALUE *x)
{
    VALUE sum = 0;
    for (u64 k = 0; k < length; k++, from += LANES)
        sum += MUL(values[from], x[narrow ? narrow[k * LANES] : wide[k * LANES]]);
    return sum;
}

/* y = alpha A x + beta y for the slices [first, last). */
void NAMED(sliced_times, VALUE, u32)(u64 first, u64 last, const struct sliced *a, const VALUE *values, const VALUE *all,
                                     VALUE *y, const VALUE *scale)
{
    int plain = IS(scale[0], 1) && IS(scale[1], 0);
    for (u64 i = first; i < last; i++) {
        u64 from = a->starts[i], to = a->starts[i + 1], at = a->column_starts[i];
        const u16 *narrow = a->columns + at;
        const VALUE *x = all + a->bases[i];
        VALUE sums[LANES];
        int small = a->column_starts[i + 1] - at == to - from;
        int finite = small ? NAMED(slice, VALUE, u16)(from, to, narrow, values, x, sums, 0)
                           : NAMED(slice, VALUE, u32)(from, to, (const u32 *)narrow, values, x, sums, 0);
        const u32 *rows = a->rows + i * LANES;
        const u8 *lengths = a->lengths + i * LANES;
        if (__builtin_expect(!finite, 0)) /* padding times infinity is NaN where there is no entry: sum again without */
            for (int l = 0; l < LANES; l++)
                sums[l] = NAMED(lane_sum, VALUE, sliced)(from + l, lengths[l], small ? narrow + l : 0,
                                                         (const u32 *)narrow + l, values, x);
        int lanes = a->count - i * LANES < LANES ? (int)(a->count - i * LANES) : LANES;
        if (lanes == LANES && plain)
            for (int l = 0; l < LANES; l++)
                y[rows[l]] = sums[l];
        else
            for (int l = 0; l < lanes; l++)
                y[rows[l]] = NAME(scaled)(sums[l], y[rows[l]], scale, plain);
    }
}

/* Y = alpha A X + beta Y, or with `turned` Y += alpha transposed(A) X; X and Y hold `count` vectors side by side. */
void NAMED(sliced_times_many, VALUE, u32)(u64 first, u64 last, const struct sliced *a, const VALUE *values,
                                          const VALUE *x, VALUE *y, const VALUE *scale, u64 count, u64 turned)
{
    int plain = IS(scale[0], 1) && IS(scale[1], 0);
    for (u64 i = first; i < last; i++) {
        u64 from = a->starts[i], to = a->starts[i + 1], at = a->column_starts[i], base = a->bases[i];
        const u16 *narrow = a->columns + at;
        const u32 *wide = (const u32 *)narrow;
        int small = a->column_starts[i + 1] - at == to - from;
        int lanes = a->count - i * LANES < LANES ? (int)(a->count - i * LANES) : LANES;
        for (int l = 0; l < lanes; l++) {
            u64 row = a->rows[i * LANES + l], length = a->lengths[i * LANES + l];
            for (u64 begin = 0; begin < count; begin += WIDTH) {
                u64 width = count - begin < WIDTH ? count - begin : WIDTH;
                VALUE sums[WIDTH];
                for (u64 r = 0; r < width; r++)
                    sums[r] = turned ? MUL(scale[0], x[row * count + begin + r]) : (VALUE)0;
                for (u64 k = 0; k < length; k++) {
                    u64 place = k * LANES + l;
                    u64 other = (base + (small ? narrow[place] : wide[place])) * count + begin;
                    VALUE value = values[from + place];
                    if (turned)
                        for (u64 r = 0; r < width; r++)
                            y[other + r] += MUL(value, sums[r]);
                    else
                        for (u64 r = 0; r < width; r++)
                            sums[r] += MUL(value, x[other + r]);
                }
                for (u64 r = 0; r < width && !turned; r++)
                    y[row * count + begin + r] = NAME(scaled)(sums[r], y[row * count + begin + r], scale, plain);
            }
        }
    }
}
