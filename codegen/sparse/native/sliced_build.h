/* From compressed rows to slices, by the type INDEX of their indices. With an order, row i of the slices is row
   order[i] of the matrix, and column j of it is column numbers[j] of the slices. */

/* Rows of fewer than `most` entries in the order of the slices: those of each `window` rows by falling length. The
   others, by rising number, at the end. Returns how many are in slices. */
u64 NAMED(sliced_rows, any, INDEX)(u64 rows, u64 window, u64 most, const INDEX *offsets, const u32 *order, u32 *found,
                                   u8 *lengths)
{
    u64 count = 0, ends[256], far = rows;
    for (u64 begin = 0; begin < rows; begin += window) {
        u64 end = begin + window < rows ? begin + window : rows, longest = 0;
        for (u64 length = 0; length < most; length++)
            ends[length] = 0;
        for (u64 i = begin; i < end; i++) {
            u64 row = order ? order[i] : i, length = offsets[row + 1] - offsets[row];
            if (order && i + 64 < rows)
                __builtin_prefetch(offsets + order[i + 64]);
            if (length < most) {
                ends[length]++;
                longest = length > longest ? length : longest;
            }
        }
        u64 place = count;
        for (u64 length = longest + 1; length-- > 0;) {
            u64 many = ends[length];
            ends[length] = place;
            place += many;
        }
        for (u64 i = begin; i < end; i++) {
            u64 row = order ? order[i] : i, length = offsets[row + 1] - offsets[row];
            if (length >= most)
                continue;
            lengths[ends[length]] = (u8)length;
            found[ends[length]++] = (u32)i;
        }
        count = place;
    }
    for (u64 i = rows; i-- > 0;) {
        u64 row = order ? order[i] : i;
        if ((u64)(offsets[row + 1] - offsets[row]) >= most)
            found[--far] = (u32)i;
    }
    return count;
}

/* The columns of the rows in slices, one row after the other. Rows and columns of an order lie anywhere: they are
   fetched some rows ahead. */
u64 NAMED(sliced_flat, any, INDEX)(u64 count, const INDEX *offsets, const INDEX *columns, const u32 *order,
                                   const u32 *numbers, const u32 *rows, const u8 *lengths, u32 *flat)
{
    u64 end = 0;
    for (u64 at = 0; at < count; at++) {
        if (order && at + 24 < count) {
            __builtin_prefetch(offsets + order[rows[at + 24]]);
            __builtin_prefetch(columns + offsets[order[rows[at + 12]]]);
            const INDEX *next = columns + offsets[order[rows[at + 6]]];
            if (numbers)
                for (u64 k = 0; k < lengths[at + 6]; k++)
                    __builtin_prefetch(numbers + next[k]);
        }
        const INDEX *own = columns + offsets[order ? order[rows[at]] : rows[at]];
        for (u64 k = 0; k < lengths[at]; k++)
            flat[end++] = numbers ? numbers[own[k]] : (u32)own[k];
    }
    return end;
}
