/* A step of WALKS random walks with restart side by side, by the type INDEX of the offsets; values are float64, and where
   there are none all are 1. Sums are taken in the same order for any number of walks: so are the bits of each one. */
typedef f64 NAMED(f64s, WALKS, INDEX) __attribute__((ext_vector_type(WALKS), aligned(8)));
typedef i64 NAMED(i64s, WALKS, INDEX) __attribute__((ext_vector_type(WALKS), aligned(8)));
#define F64S NAMED(f64s, WALKS, INDEX)
#define I64S NAMED(i64s, WALKS, INDEX)
#define WALKS_AHEAD 128 /* entries whose elements are fetched before their turn */

/* The sum of a row; `most` is the last entry of all rows. */
static inline F64S NAMED(walk_sum, WALKS, INDEX)(u64 from, u64 to, u64 most, const u32 *sources, const f64 *values,
                                                 const F64S *x)
{
    F64S a = 0, b = 0, c = 0, d = 0;
#define TERM(i) (values ? values[from + i] * x[sources[from + i]] : x[sources[from + i]])
    for (; from + 4 <= to; from += 4) {
        for (u64 i = from + WALKS_AHEAD; i < from + WALKS_AHEAD + 4; i++)
            __builtin_prefetch(x + sources[i < most ? i : most]);
        a += TERM(0);
        b += TERM(1);
        c += TERM(2);
        d += TERM(3);
    }
    for (u64 i = from + WALKS_AHEAD; i < to + WALKS_AHEAD; i++)
        __builtin_prefetch(x + sources[i < most ? i : most]);
    if (from < to)
        a += TERM(0);
    if (from + 1 < to)
        b += TERM(1);
    if (from + 2 < to)
        c += TERM(2);
#undef TERM
    return (a + b) + (c + d);
}

/* z = (c A z + (1 - c) e) / degree for the blocks of rows [first, last), with z = r / degree; fresh holds the new z. A walk
   restarts at its row of `starts`. numbers: c and 1 - c. sums: norms of the changes of r, which is 0 for the sum of them,
   1 for that of their squares, 2 for the largest; WALKS for each block. */
u64 NAMED(NAMED(walk, step, WALKS), any, INDEX)(u64 first, u64 last, u64 entries, u64 norm, const u64 *cuts, const INDEX *offsets,
                                   const u32 *sources, const f64 *values, const F64S *x, F64S *fresh,
                                   const f64 *degrees, const I64S *starts, const f64 *numbers, F64S *sums)
{
    I64S again = (I64S)(F64S)numbers[1];
    for (u64 block = first; block < last; block++) {
        F64S moved = 0;
        for (u64 row = cuts[block]; row < cuts[block + 1]; row++) {
            u64 from = offsets[row], to = offsets[row + 1];
            F64S sum = values ? NAMED(walk_sum, WALKS, INDEX)(from, to, entries - 1, sources, values, x)
                              : NAMED(walk_sum, WALKS, INDEX)(from, to, entries - 1, sources, 0, x);
            f64 degree = degrees[row];
            F64S score = numbers[0] * sum + (F64S)((*starts == (i64)row) & again), change = score - x[row] * degree;
            if (norm == 0)
                moved += __builtin_elementwise_abs(change);
            else if (norm == 1)
                moved += change * change;
            else
                moved = __builtin_elementwise_max(moved, __builtin_elementwise_abs(change));
            fresh[row] = score * (degree > 0 ? 1 / degree : 0.0);
        }
        sums[block] = moved;
    }
    return 0;
}
#undef F64S
#undef I64S
#undef WALKS_AHEAD
#undef WALKS
