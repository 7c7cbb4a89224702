/* From compressed rows to tiles of columns, by the value and the index type of the matrix. */

/* Fills the blocks one after the other; returns the heads. For each block its entries are put in the order of tiles, row
   by row; then the rows of each cell in the order of their lengths there. Without `found` values are left out. */
u64 NAME(tiled_build)(u64 blocks, u64 tiles, u64 lanes, const struct tiled_job *job, const INDEX *offsets,
                      const INDEX *columns, const VALUE *values, VALUE *room, VALUE *found)
{
    u64 heads = 0, listed = 0, done = 0, shift = job->shift, mask = ((u64)1 << shift) - 1;
    for (u64 b = 0; b < blocks; b++) {
        u64 begin = job->first_rows[b], size = job->first_rows[b + 1] - begin;
        job->head_starts[b] = heads;
        job->row_starts[b] = listed;
        job->starts[b] = done;
        for (u64 t = 0; t <= tiles; t++)
            job->tile_starts[t] = 0;
        u64 filled = 0;
        for (u64 i = 0; i < size; i++) {
            u64 row = job->order ? job->order[begin + i] : begin + i;
            if (job->order && i + 24 < size) {
                __builtin_prefetch(offsets + job->order[begin + i + 24]);
                __builtin_prefetch(columns + offsets[job->order[begin + i + 12]]);
            }
            for (u64 k = offsets[row]; k < offsets[row + 1]; k++) {
                u32 column = job->numbers ? job->numbers[columns[k]] : (u32)columns[k];
                job->moved[filled++] = column;
                job->tile_starts[column >> shift]++;
            }
        }
        filled = 0;
        u64 sum = 0;
        for (u64 t = 0; t <= tiles; t++) {
            u64 many = job->tile_starts[t];
            job->tile_starts[t] = sum;
            sum += many;
        }
        for (u64 i = 0; i < size; i++) {
            u64 row = job->order ? job->order[begin + i] : begin + i;
            if (job->order && found && i + 12 < size)
                __builtin_prefetch(values + offsets[job->order[begin + i + 12]]);
            for (u64 k = offsets[row]; k < offsets[row + 1]; k++) {
                u64 column = job->moved[filled++], to = job->tile_starts[column >> shift]++;
                job->cell_rows[to] = (u16)i;
                job->cell_columns[to] = (u16)(column & mask);
                if (found)
                    room[to] = values[k];
                if (job->origin)
                    job->cell_entries[to] = k;
            }
        }
        u64 from = 0;
        for (u64 t = 0; t < tiles; t++) { /* now tile_starts[t] is where tile t ends */
            u64 to = job->tile_starts[t];
            if (from == to)
                continue;
            u32 *head = job->heads + heads, counts[TILED_LONG + 1];
            u64 runs = 0, longs = 0, single = 0;
            filled = 0;
            for (u64 length = 0; length <= TILED_LONG; length++)
                counts[length] = 0;
            for (u64 k = from; k < to;) { /* the rows of the cell, as where they begin */
                u64 start = k, row = job->cell_rows[k];
                while (k < to && job->cell_rows[k] == row)
                    k++;
                job->run_starts[filled] = (u32)start;
                job->run_lengths[filled++] = (u32)(k - start);
                counts[k - start < TILED_LONG ? k - start : TILED_LONG]++;
            }
            u32 place[TILED_LONG + 1], next = 0;
            for (u64 length = TILED_LONG + 1; length-- > 0;) {
                place[length] = next;
                next += counts[length];
            }
            for (u64 i = 0; i < filled; i++) {
                u64 length = job->run_lengths[i];
                job->sorted[place[length < TILED_LONG ? length : TILED_LONG]++] = (u32)i;
            }
            head[0] = (u32)t;
            heads += 4;
            u64 at = 0;
            for (; at < counts[TILED_LONG]; at++, longs++) {
                u64 i = job->sorted[at], first = job->run_starts[i];
                job->heads[heads++] = job->run_lengths[i];
                job->rows[listed++] = job->cell_rows[first];
                for (u64 k = first; k < first + job->run_lengths[i]; k++, done++) {
                    job->columns[done] = job->cell_columns[k];
                    if (found)
                        found[done] = room[k];
                    if (job->origin)
                        job->origin[done] = job->cell_entries[k];
                }
            }
            u64 end = at;
            for (u64 length = TILED_LONG; length-- > 1;) {
                end += counts[length];
                u64 many = (end - at) / lanes;
                if (many == 0)
                    continue;
                job->heads[heads++] = (u32)length;
                job->heads[heads++] = (u32)many;
                runs++;
                for (; many > 0; many--, at += lanes) {
                    u64 firsts[16];
                    for (u64 l = 0; l < lanes; l++) {
                        u64 i = job->sorted[at + l];
                        firsts[l] = job->run_starts[i];
                        job->rows[listed++] = job->cell_rows[firsts[l]];
                        job->run_starts[i] += (u32)length;
                        job->run_lengths[i] -= (u32)length;
                    }
                    for (u64 k = 0; k < length; k++)
                        for (u64 l = 0; l < lanes; l++, done++) {
                            job->columns[done] = job->cell_columns[firsts[l] + k];
                            if (found)
                                found[done] = room[firsts[l] + k];
                            if (job->origin)
                                job->origin[done] = job->cell_entries[firsts[l] + k];
                        }
                }
            }
            for (u64 own = counts[TILED_LONG]; own < filled; own++) { /* what is left of rows that no slice had room for */
                u64 i = job->sorted[own], first = job->run_starts[i];
                for (u64 k = first; k < first + job->run_lengths[i]; k++, done++, single++) {
                    job->rows[listed++] = job->cell_rows[first];
                    job->columns[done] = job->cell_columns[k];
                    if (found)
                        found[done] = room[k];
                    if (job->origin)
                        job->origin[done] = job->cell_entries[k];
                }
            }
            head[1] = (u32)longs;
            head[2] = (u32)runs;
            head[3] = (u32)single;
            from = to;
        }
    }
    job->head_starts[blocks] = heads;
    job->row_starts[blocks] = listed;
    job->starts[blocks] = done;
    return heads;
}
