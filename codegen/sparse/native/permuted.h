/* Some rows of a matrix as a matrix of their own, rows and columns perhaps in another order: row i is row which[i], and
   its columns become numbers[column] where `numbers` is there. `starts` holds its offsets. */
u64 NAME(permuted_rows)(u64 rows, const u32 *which, const u32 *numbers, const INDEX *offsets, const INDEX *columns,
                        const VALUE *values, const INDEX *starts, INDEX *found, VALUE *moved)
{
    for (u64 i = 0; i < rows; i++) {
        if (i + 24 < rows) {
            __builtin_prefetch(offsets + which[i + 24]);
            u64 next = offsets[which[i + 12]];
            __builtin_prefetch(columns + next);
            __builtin_prefetch(values + next);
        }
        u64 from = offsets[which[i]], to = starts[i], length = offsets[which[i] + 1] - from;
        for (u64 k = 0; k < length; k++) {
            found[to + k] = numbers ? (INDEX)numbers[columns[from + k]] : columns[from + k];
            moved[to + k] = values[from + k];
        }
    }
    return 0;
}
