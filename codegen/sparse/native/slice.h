/* The sums of one slice, by the type COLUMN of its columns, and whether all of them are finite. With `one` there is a
   single value for all entries; the sums have the same bits. Elements of x are loaded
   one by one: gather instructions are slower for so few of them, and on many processors always. */
static inline int NAMED(slice, VALUE, COLUMN)(u64 from, u64 to, const COLUMN *columns, const VALUE *values,
                                               const VALUE *x, VALUE *sums, int one)
{
#ifdef FOUR
    FOUR s[LANES / 4];
    for (int g = 0; g < LANES / 4; g++)
        s[g] = 0;
    for (; from < to; from += LANES, columns += LANES) {
        /* What comes after the slice, too. */
        if (!one)
            STREAMED(values + from + 2048 / sizeof(VALUE));
        STREAMED(columns + 1024 / sizeof(COLUMN));
#pragma clang loop unroll(full)
        for (int g = 0; g < LANES / 4; g++) {
            /* Columns come 64 bits at a time: loads are what a core runs out of first. */
            const u64 *at = (const u64 *)(columns + 4 * g);
#if COLUMN_BITS == 16
            u64 a = *at & 0xffff, b = *at >> 16 & 0xffff, c = *at >> 32 & 0xffff, d = *at >> 48;
#else
            u64 a = (u32)at[0], b = at[0] >> 32, c = (u32)at[1], d = at[1] >> 32;
#endif
            FOUR own = one ? (FOUR)*values : *(const FOUR *)(values + from + 4 * g);
            s[g] += own * (FOUR){x[a], x[b], x[c], x[d]};
        }
    }
    FOUR none = 0; /* times zero, what is not finite is NaN */
    for (int g = 0; g < LANES / 4; g++) {
        *(FOUR *)(sums + 4 * g) = s[g];
        none += s[g] * (VALUE)0;
    }
    return (none.x + none.y) + (none.z + none.w) == 0;
#else
    for (int l = 0; l < LANES; l++)
        sums[l] = 0;
    for (; from < to; from += LANES, columns += LANES)
        for (int l = 0; l < LANES; l++)
            sums[l] += MUL(values[one ? 0 : from + l], x[columns[l]]);
    VALUE none = 0;
    for (int l = 0; l < LANES; l++)
        none += sums[l] * (VALUE)0;
    return IS(none, 0);
#endif
}
