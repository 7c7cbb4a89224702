/* The values of all slices, from those of compressed rows; what is padded is 0. */
void NAME(sliced_values)(u64 count, u64 lanes, const INDEX *offsets, const u32 *order, const u32 *rows,
                         const u8 *lengths, const u64 *starts, const VALUE *values, VALUE *found)
{
    for (u64 at = 0; at < (count + lanes - 1) / lanes * lanes; at++) {
        if (order && at + 24 < count) {
            __builtin_prefetch(offsets + order[rows[at + 24]]);
            const VALUE *next = values + offsets[order[rows[at + 12]]];
            __builtin_prefetch(next);
            __builtin_prefetch((const char *)next + 64);
        }
        u64 i = at / lanes, width = (starts[i + 1] - starts[i]) / lanes, length = at < count ? lengths[at] : 0;
        u64 row = length == 0 ? 0 : order ? order[rows[at]] : rows[at];
        const VALUE *own = values + offsets[row];
        VALUE *to = found + starts[i] + at % lanes;
        for (u64 k = 0; k < width; k++)
            to[k * lanes] = k < length ? own[k] : (VALUE)0;
    }
}
