/* From the columns of rows one after the other to those of slices. */

/* Where each slice begins, and its first column. `starts` and `column_starts` have one more entry than slices. */
u64 sliced_starts_any_u32(u64 count, u64 lanes, const u32 *flat, const u8 *lengths, u64 *starts, u64 *column_starts,
                          u32 *bases)
{
    starts[0] = column_starts[0] = 0;
    for (u64 i = 0; i < (count + lanes - 1) / lanes; i++) {
        u64 end = (i + 1) * lanes < count ? (i + 1) * lanes : count, width = 0, entries = 0;
        u32 low = ~(u32)0, high = 0;
        for (u64 at = i * lanes; at < end; at++) {
            width = lengths[at] > width ? lengths[at] : width;
            entries += lengths[at];
        }
        for (u64 k = 0; k < entries; k++) {
            low = flat[k] < low ? flat[k] : low;
            high = flat[k] > high ? flat[k] : high;
        }
        flat += entries;
        bases[i] = width ? low : 0;
        starts[i + 1] = starts[i] + width * lanes;
        column_starts[i + 1] = column_starts[i] + width * lanes * (width && high - low > 0xffff ? 2 : 1);
    }
    return 0;
}

/* The columns of all slices. */
u64 sliced_columns_any_u32(u64 count, u64 lanes, const u32 *flat, const u8 *lengths, const u64 *starts,
                           const u64 *column_starts, const u32 *bases, u16 *found)
{
    for (u64 at = 0; at < (count + lanes - 1) / lanes * lanes; at++) {
        u64 i = at / lanes, lane = at % lanes, width = (starts[i + 1] - starts[i]) / lanes;
        u64 length = at < count ? lengths[at] : 0;
        u16 *narrow = found + column_starts[i] + lane;
        u32 *wide = (u32 *)(found + column_starts[i]) + lane, last = 0;
        int small = column_starts[i + 1] - column_starts[i] == width * lanes;
        for (u64 k = 0; k < width; k++) {
            if (k < length)
                last = flat[k] - bases[i];
            if (small)
                narrow[k * lanes] = (u16)last;
            else
                wide[k * lanes] = last;
        }
        flat += length;
    }
    return 0;
}
