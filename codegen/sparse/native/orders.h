/* Orders of rows and columns, and what they need, by the type INDEX of a matrix's indices. */

#define AHEAD 12 /* rows of the queue whose entries are fetched before their turn */

/* Breadth-first from `order[at]` on: rows are taken from the queue `order`, unmarked columns appended to it; with
   `sort`, those of one row by rising number of entries. Returns the end of the queue. */
static u64 NAMED(search, any, INDEX)(u64 at, u64 sort, const INDEX *offsets, const INDEX *columns, u32 *order, u8 *mark)
{
    u64 end = at + 1;
    mark[order[at]] = 1;
    for (; at < end; at++) {
        if (at + 2 * AHEAD < end)
            __builtin_prefetch(offsets + order[at + 2 * AHEAD]);
        if (at + AHEAD < end)
            __builtin_prefetch(columns + offsets[order[at + AHEAD]]);
        u64 row = order[at], begin = end;
        for (u64 k = offsets[row]; k < offsets[row + 1]; k++)
            if (!mark[columns[k]]) {
                mark[columns[k]] = 1;
                order[end++] = (u32)columns[k];
            }
        if (!sort || end - begin > 64) /* rows of that many neighbours: their order matters little */
            continue;
        for (u64 i = begin + 1; i < end; i++) {
            u32 own = order[i];
            u64 j = i, length = offsets[own + 1] - offsets[own];
            for (; j > begin && (u64)(offsets[order[j - 1] + 1] - offsets[order[j - 1]]) > length; j--)
                order[j] = order[j - 1];
            order[j] = own;
        }
    }
    return end;
}

/* Reverse Cuthill-McKee order of a square matrix, its entries taken as edges from rows to columns: order[new] = old.
   Each part begins at the last row of a search from its first one; rows of more than `most` entries come last. `mark`
   holds zeros. */
u64 NAMED(level_order, any, INDEX)(u64 size, u64 most, const INDEX *offsets, const INDEX *columns, u32 *order, u8 *mark)
{
    u64 end = 0;
    for (u64 i = 0; i < size; i++)
        if ((u64)(offsets[i + 1] - offsets[i]) > most)
            mark[i] = 1;
    for (u64 i = 0; i < size; i++) {
        if (mark[i])
            continue;
        order[end] = (u32)i;
        u64 last = NAMED(search, any, INDEX)(end, 0, offsets, columns, order, mark);
        u32 far = order[last - 1];
        for (u64 at = end; at < last; at++)
            mark[order[at]] = 0;
        order[end] = far;
        end = NAMED(search, any, INDEX)(end, 1, offsets, columns, order, mark);
        if (!mark[i]) { /* edges of one direction do not lead back */
            order[end] = (u32)i;
            end = NAMED(search, any, INDEX)(end, 1, offsets, columns, order, mark);
        }
    }
    for (u64 i = 0; i < end / 2; i++) {
        u32 own = order[i];
        order[i] = order[end - 1 - i];
        order[end - 1 - i] = own;
    }
    for (u64 i = 0; i < size; i++)
        if ((u64)(offsets[i + 1] - offsets[i]) > most)
            order[end++] = (u32)i;
    return end;
}

/* Entries of each column. `counts` holds zeros. */
u64 NAMED(column_counts, any, INDEX)(u64 entries, const INDEX *columns, u32 *counts)
{
    for (u64 k = 0; k < entries; k++)
        counts[columns[k]]++;
    return 0;
}

/* How many entries of consecutive rows, from row `first` of the order on, touch so many lines of x, of 2^shift elements
   each, that they and what is read of the matrix, `bytes` an entry, fill half of a cache of `lines` lines, and from
   there on all of it: entries and lines between the two in `found`; all rows once around or `most` entries at most.
   `mark` holds zeros, and zeros again afterwards; `list` is for as many lines as x has. */
u64 NAMED(touched_lines, any, INDEX)(u64 rows, u64 first, u64 bytes, u64 lines, u64 most, u64 shift,
                                     const INDEX *offsets, const INDEX *columns, const u32 *order, const u32 *numbers,
                                     u8 *mark, u32 *list, u64 *found)
{
    u64 count = 0, entries = 0, warm_entries = 0, warm_lines = 0, done = 0, filled = 0;
    int warmed = 0;
    for (; done < rows && filled < lines && entries < most; done++) {
        u64 i = first + done < rows ? first + done : first + done - rows, row = order ? order[i] : i;
        if (order && i + 24 < rows) {
            __builtin_prefetch(offsets + order[i + 24]);
            __builtin_prefetch(columns + offsets[order[i + 12]]);
        }
        for (u64 k = offsets[row]; k < offsets[row + 1]; k++) {
            u64 line = (numbers ? (u64)numbers[columns[k]] : (u64)columns[k]) >> shift;
            if (!mark[line]) {
                mark[line] = 1;
                list[count++] = (u32)line;
            }
        }
        entries += offsets[row + 1] - offsets[row];
        filled = count + entries * bytes / 64;
        if (2 * filled <= lines) {
            warm_entries = entries;
            warm_lines = count;
        } else
            warmed = 1;
    }
    for (u64 i = 0; i < count; i++)
        mark[list[i]] = 0;
    /* If not warmed, first touches are what is known: no more lines than that are missed. */
    found[0] = warmed ? entries - warm_entries : entries;
    found[1] = done == rows && filled < lines ? 0 : warmed ? count - warm_lines : count; /* 0: all of x fits */
    return count;
}

/* How long rows are within tiles of 2^shift columns: each `step`th row of the order is looked at, and lengths[l] counts
   those of l entries in a tile, lengths[most] longer ones, lengths[most + 1] their entries. Returns the entries of the rows looked at.
   `counts` holds a zero for each tile, and zeros again afterwards; `list` has room for each tile. */
u64 NAMED(tile_lengths, any, INDEX)(u64 rows, u64 step, u64 shift, u64 most, const INDEX *offsets, const INDEX *columns,
                                    const u32 *order, const u32 *numbers, u32 *counts, u32 *list, u64 *lengths)
{
    u64 entries = 0;
    for (u64 i = step / 2; i < rows; i += step) {
        u64 row = order ? order[i] : i, tiles = 0;
        for (u64 k = offsets[row]; k < offsets[row + 1]; k++) {
            u64 tile = (numbers ? (u64)numbers[columns[k]] : (u64)columns[k]) >> shift;
            if (counts[tile]++ == 0)
                list[tiles++] = (u32)tile;
        }
        entries += offsets[row + 1] - offsets[row];
        for (u64 t = 0; t < tiles; t++) {
            u64 length = counts[list[t]];
            lengths[length < most ? length : most]++;
            lengths[most + 1] += length < most ? 0 : length;
            counts[list[t]] = 0;
        }
    }
    return entries;
}

/* A number for a structure that hardly any other one has. */
u64 NAMED(structure_key, any, INDEX)(u64 rows, u64 entries, const INDEX *offsets, const INDEX *columns)
{
    u64 keys[4] = {1, 2, 3, 4};
    for (u64 i = 0; i <= rows; i++)
        keys[i & 3] = (keys[i & 3] ^ offsets[i]) * 0x9E3779B97F4A7C15u ^ keys[i & 3] >> 29;
    for (u64 k = 0; k < entries; k++)
        keys[k & 3] = (keys[k & 3] ^ columns[k]) * 0x9E3779B97F4A7C15u ^ keys[k & 3] >> 29;
    return keys[0] ^ keys[1] * 3 ^ keys[2] * 5 ^ keys[3] * 7;
}
