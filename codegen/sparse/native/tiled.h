/* Tiles of columns. A block is some consecutive rows; a cell is a block's part in a tile, whose columns and rows count in
   16 bits from the first of each. A cell holds its long rows one after the other, then rows of equal length in slices of
   LANES, the longest first, then single entries. Nothing is padded.

   `heads` says for each cell of a block: its tile, how many long rows, runs of slices and single entries it has; the
   lengths of the long rows; the width and the number of slices of each run. With `one` there is a single value for all
   entries. */

/* The sum of a long row: its entries in turn to LANES sums, as if they were rows of a slice, then what is left. */
static inline VALUE NAMED(tiled_row, VALUE, u32)(u64 length, const u16 *columns, const VALUE *values, const VALUE *x,
                                                   int one)
{
    VALUE sums[LANES];
    u64 even = length / LANES * LANES;
    NAMED(slice, VALUE, u16)(0, even, columns, values, x, sums, one);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            sums[l] += sums[l + half];
    VALUE rest = 0;
    for (u64 k = even; k < length; k++)
        rest += MUL(values[one ? 0 : k], x[columns[k]]);
    return sums[0] + rest;
}

static inline void NAMED(tiled_blocks, VALUE, u32)(u64 first, u64 last, const struct tiled *a, const VALUE *values,
                                                   const VALUE *x, VALUE *y, const VALUE *scale, int one)
{
    int plain = IS(scale[0], 1), clear = IS(scale[1], 0), keep = IS(scale[1], 1);
    VALUE alpha = scale[0];
    for (u64 b = first; b < last; b++) {
        VALUE *own = y + a->first_rows[b];
        u64 size = a->first_rows[b + 1] - a->first_rows[b];
        for (u64 i = 0; i < size && !keep; i++)
            own[i] = clear ? (VALUE)0 : MUL(scale[1], own[i]);
        const u32 *head = a->heads + a->head_starts[b], *end = a->heads + a->head_starts[b + 1];
        const u16 *rows = a->rows + a->row_starts[b], *columns = a->columns + a->starts[b];
        const VALUE *v = values + (one ? 0 : a->starts[b]);
        while (head < end) {
            const VALUE *part = x + ((u64)head[0] << a->shift);
            u64 longs = head[1], runs = head[2], single = head[3];
            head += 4;
            for (; longs > 0; longs--) {
                u64 length = *head++;
                VALUE sum = NAMED(tiled_row, VALUE, u32)(length, columns, v, part, one);
                own[*rows++] += plain ? sum : MUL(alpha, sum);
                columns += length;
                v += one ? 0 : length;
            }
            for (; runs > 0; runs--, head += 2) {
                u64 slots = (u64)head[0] * LANES;
                for (u64 left = head[1]; left > 0; left--) {
                    VALUE sums[LANES];
                    NAMED(slice, VALUE, u16)(0, slots, columns, v, part, sums, one);
                    for (int l = 0; l < LANES; l++)
                        own[rows[l]] += plain ? sums[l] : MUL(alpha, sums[l]);
                    columns += slots;
                    v += one ? 0 : slots;
                    rows += LANES;
                }
            }
            for (; single > 0; single--, v += !one, columns++) {
                VALUE sum = MUL(*v, part[*columns]);
                own[*rows++] += plain ? sum : MUL(alpha, sum);
            }
        }
    }
}

/* y = alpha A x + beta y for the blocks [first, last). */
void NAMED(tiled_times, VALUE, u32)(u64 first, u64 last, const struct tiled *a, const VALUE *values, const VALUE *x,
                                    VALUE *y, const VALUE *scale)
{
    if (a->one)
        NAMED(tiled_blocks, VALUE, u32)(first, last, a, values, x, y, scale, 1);
    else
        NAMED(tiled_blocks, VALUE, u32)(first, last, a, values, x, y, scale, 0);
}

/* One entry for `count` vectors side by side: Y += alpha v X, or with `turned` the other way round. */
static inline void NAMED(tiled_entry, VALUE, u32)(VALUE value, u64 row, u64 column, const VALUE *x, VALUE *y, u64 count,
                                                  u64 turned)
{
    const VALUE *from = x + (turned ? row : column) * count;
    VALUE *to = y + (turned ? column : row) * count;
    for (u64 r = 0; r < count; r++)
        to[r] += MUL(value, from[r]);
}

/* Y = alpha A X + beta Y, or with `turned` Y += alpha transposed(A) X; X and Y hold `count` vectors side by side. */
void NAMED(tiled_times_many, VALUE, u32)(u64 first, u64 last, const struct tiled *a, const VALUE *values, const VALUE *x,
                                         VALUE *y, const VALUE *scale, u64 count, u64 turned)
{
    VALUE alpha = scale[0];
    for (u64 b = first; b < last; b++) {
        u64 row = a->first_rows[b], begin = row * count, until = a->first_rows[b + 1] * count;
        for (u64 i = begin; i < until && !turned; i++)
            y[i] = IS(scale[1], 0) ? (VALUE)0 : MUL(scale[1], y[i]);
        const u32 *head = a->heads + a->head_starts[b], *end = a->heads + a->head_starts[b + 1];
        const u16 *rows = a->rows + a->row_starts[b];
        u64 at = a->starts[b];
        while (head < end) {
            u64 base = (u64)head[0] << a->shift, longs = head[1], runs = head[2], single = head[3];
            head += 4;
            for (; longs > 0; longs--, rows++)
                for (u64 stop = at + *head++; at < stop; at++)
                    NAMED(tiled_entry, VALUE, u32)(MUL(alpha, values[a->one ? 0 : at]), row + *rows, base + a->columns[at], x, y, count, turned);
            for (; runs > 0; runs--, head += 2)
                for (u64 left = head[1]; left > 0; left--, rows += LANES)
                    for (u64 k = 0; k < head[0]; k++)
                        for (int l = 0; l < LANES; l++, at++)
                            NAMED(tiled_entry, VALUE, u32)(MUL(alpha, values[a->one ? 0 : at]), row + rows[l], base + a->columns[at], x, y, count, turned);
            for (; single > 0; single--, rows++, at++)
                NAMED(tiled_entry, VALUE, u32)(MUL(alpha, values[a->one ? 0 : at]), row + *rows, base + a->columns[at], x, y, count, turned);
        }
    }
}
