/* A x and its product with the transposed matrix in one sweep, by the type INDEX of the offsets. Values are float64; where
   there are none all are 1. `pairs` holds for each column its element of x, and the sum that Aᵀ A x gives it: while a row
   is added up for the one, the pairs come near for the other. `targets` has PAIRS_AHEAD zeros behind its end. */

#ifndef PAIRS_AHEAD
#define PAIRS_AHEAD 128 /* entries whose pairs are fetched before their turn: some rows, at whose ends a core guesses wrong */
static inline f64 pair_value(const f64 *values, u64 k)
{
    return values ? values[k] : 1.0;
}

static inline f64 pair_sum(u64 from, u64 to, const u32 *targets, const f64 *values, const f64 *pairs)
{
    f64 a = 0, b = 0, c = 0, d = 0;
    for (; from + 4 <= to; from += 4) {
        for (int i = 0; i < 4; i++)
            __builtin_prefetch(pairs + 2 * (u64)targets[from + i + PAIRS_AHEAD], 1);
        a += pair_value(values, from) * pairs[2 * (u64)targets[from]];
        b += pair_value(values, from + 1) * pairs[2 * (u64)targets[from + 1]];
        c += pair_value(values, from + 2) * pairs[2 * (u64)targets[from + 2]];
        d += pair_value(values, from + 3) * pairs[2 * (u64)targets[from + 3]];
    }
    for (; from < to; from++) {
        __builtin_prefetch(pairs + 2 * (u64)targets[from + PAIRS_AHEAD], 1);
        a += pair_value(values, from) * pairs[2 * (u64)targets[from]];
    }
    return (a + b) + (c + d);
}

static inline void pair_add(u64 from, u64 to, const u32 *targets, const f64 *values, f64 own, f64 *pairs)
{
    for (; from < to; from++)
        pairs[2 * (u64)targets[from] + 1] += pair_value(values, from) * own;
}

/* Of columns [first, last): x = factor times the sums of all `pieces` in turn, each of `size` pairs, which begin again at
   0. numbers: factor, and the sum of x. */
u64 pairs_join_any_u32(u64 first, u64 last, u64 pieces, u64 size, f64 *pairs, f64 *numbers)
{
    f64 total = 0;
    for (u64 j = first; j < last; j++) {
        f64 sum = 0;
        for (u64 i = 0; i < pieces; i++)
            sum += pairs[2 * (i * size + j) + 1];
        sum *= numbers[0];
        total += sum;
        for (u64 i = 0; i < pieces; i++) {
            pairs[2 * (i * size + j)] = sum;
            pairs[2 * (i * size + j) + 1] = 0;
        }
    }
    numbers[1] = total;
    return 0;
}
#endif

/* y = factor · A x for the rows [first, last), and Aᵀ y to the sums. numbers: factor, and the sum of y. */
u64 NAMED(pairs_sweep, any, INDEX)(u64 first, u64 last, const INDEX *offsets, const u32 *targets, const f64 *values,
                                   f64 *pairs, f64 *y, f64 *numbers)
{
    f64 total = 0, factor = numbers[0];
    for (u64 i = first; i < last; i++) {
        u64 from = offsets[i], to = offsets[i + 1];
        f64 own = factor * (values ? pair_sum(from, to, targets, values, pairs) : pair_sum(from, to, targets, 0, pairs));
        y[i] = own;
        total += own;
        if (values)
            pair_add(from, to, targets, values, own, pairs);
        else
            pair_add(from, to, targets, 0, own, pairs);
    }
    numbers[1] = total;
    return 0;
}

/* Aᵀ y of the rows [first, last) to the sums. */
u64 NAMED(pairs_begin, any, INDEX)(u64 first, u64 last, const INDEX *offsets, const u32 *targets, const f64 *values,
                                   f64 *pairs, const f64 *y)
{
    for (u64 i = first; i < last; i++) {
        u64 to = offsets[i + 1];
        for (u64 k = offsets[i]; k < to; k++) {
            __builtin_prefetch(pairs + 2 * (u64)targets[k + PAIRS_AHEAD], 1);
            pairs[2 * (u64)targets[k] + 1] += pair_value(values, k) * y[i];
        }
    }
    return 0;
}

/* The new numbers of columns, and zeros behind them. */
u64 NAMED(pairs_targets, any, INDEX)(u64 entries, const INDEX *columns, const u32 *numbers, u32 *targets)
{
    for (u64 k = 0; k < entries; k++) {
        if (k + PAIRS_AHEAD < entries)
            __builtin_prefetch(numbers + columns[k + PAIRS_AHEAD]);
        targets[k] = numbers[columns[k]];
    }
    for (u64 k = 0; k < PAIRS_AHEAD; k++)
        targets[entries + k] = 0;
    return 0;
}
