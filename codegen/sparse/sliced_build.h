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

/* Where each slice begins, and its first column. `starts` and `column_starts` have one more entry than slices. */
void NAMED(sliced_starts, any, INDEX)(u64 count, u64 lanes, const INDEX *offsets, const INDEX *columns,
                                      const u32 *order, const u32 *numbers, const u32 *rows, const u8 *lengths,
                                      u64 *starts, u64 *column_starts, u32 *bases)
{
    u64 slices = (count + lanes - 1) / lanes;
    starts[0] = column_starts[0] = 0;
    for (u64 i = 0; i < slices; i++) {
        u64 end = (i + 1) * lanes < count ? (i + 1) * lanes : count, width = 0;
        u32 low = ~(u32)0, high = 0;
        for (u64 at = i * lanes; at < end; at++) {
            u64 row = order ? order[rows[at]] : rows[at], length = lengths[at];
            const INDEX *own = columns + offsets[row];
            for (u64 k = 0; k < length; k++) {
                u32 column = numbers ? numbers[own[k]] : (u32)own[k];
                low = column < low ? column : low;
                high = column > high ? column : high;
            }
            width = length > width ? length : width;
        }
        bases[i] = width ? low : 0;
        starts[i + 1] = starts[i] + width * lanes;
        column_starts[i + 1] = column_starts[i] + width * lanes * (width && high - low > 0xffff ? 2 : 1);
    }
}

/* The columns of all slices. */
void NAMED(sliced_columns, any, INDEX)(u64 count, u64 lanes, const INDEX *offsets, const INDEX *columns,
                                       const u32 *order, const u32 *numbers, const u32 *rows, const u8 *lengths,
                                       const u64 *starts, const u64 *column_starts, const u32 *bases, u16 *found)
{
    for (u64 at = 0; at < (count + lanes - 1) / lanes * lanes; at++) {
        u64 i = at / lanes, lane = at % lanes, width = (starts[i + 1] - starts[i]) / lanes;
        u64 length = at < count ? lengths[at] : 0;
        u64 row = length == 0 ? 0 : order ? order[rows[at]] : rows[at];
        const INDEX *own = columns + offsets[row];
        u16 *narrow = found + column_starts[i] + lane;
        u32 *wide = (u32 *)(found + column_starts[i]) + lane, last = 0;
        int small = column_starts[i + 1] - column_starts[i] == width * lanes;
        for (u64 k = 0; k < width; k++) {
            if (k < length)
                last = (numbers ? numbers[own[k]] : (u32)own[k]) - bases[i];
            if (small)
                narrow[k * lanes] = (u16)last;
            else
                wide[k * lanes] = last;
        }
    }
}
