/*
 * Sparse matrices of the programs spmv_nonzeros, spmv_rows and cg: by rows (CSR), single precision or double.
 */
#ifndef MATRIX_H
#define MATRIX_H

#include "spac.h"

typedef struct {
    int n, nonzeros;
    int *start, *column; /* row i has the nonzeros start[i] ... start[i + 1] - 1 */
    double *value;
} Matrix;

typedef struct {
    int row, column;
} Entry;

static inline int by_row(const void *one, const void *other)
{
    const Entry *p = one, *q = other;
    if (p->row != q->row)
        return (p->row > q->row) - (p->row < q->row);
    return (p->column > q->column) - (p->column < q->column);
}

/* Rows from a list of entries, which is sorted; entries that are there twice count once. */
static inline Matrix from_entries(int n, Entry *entries, int count)
{
    qsort(entries, (size_t)count, sizeof *entries, by_row);
    Matrix a = {n, 0, new_ints(n + 1), new_ints(count), new_doubles(count)};
    for (int k = 0; k < count; k++)
        if (k == 0 || by_row(&entries[k - 1], &entries[k]) != 0) {
            a.column[a.nonzeros++] = entries[k].column;
            a.start[entries[k].row + 1] = a.nonzeros;
        }
    for (int i = 0; i < n; i++)
        if (a.start[i + 1] == 0)
            a.start[i + 1] = a.start[i];
    return a;
}

/* The links of a graph with few nodes of many links (R-MAT: Chakrabarti, Zhan and Faloutsos, SDM 2004), 8 a node; values
   such that no product grows. */
static inline Matrix links(int n, uint64_t *random)
{
    int count = 8 * n, *number = new_numbers(n, 0, random);
    Entry *entries = allocate((size_t)count, sizeof *entries);
    for (int k = 0; k < count;) {
        int row = 0, column = 0;
        for (int bit = 1; bit < n; bit *= 2) {
            int part = draw(random, 100);
            row += part >= 76 ? bit : 0;
            column += (part >= 57 && part < 76) || part >= 95 ? bit : 0;
        }
        if (row < n && column < n)
            entries[k++] = (Entry){number[row], number[column]};
    }
    Matrix a = from_entries(n, entries, count);
    for (int i = 0; i < n; i++)
        for (int k = a.start[i]; k < a.start[i + 1]; k++)
            a.value[k] = (0.5 + 0.5 * draw_unit(random)) / (a.start[i + 1] - a.start[i]);
    free(entries);
    free(number);
    return a;
}

/* Heat in a square of side x side points, each connected to its four neighbours: symmetric, positive definite. Points are
   numbered at random, or row by row. */
static inline Matrix heat(int side, int in_order, uint64_t *random)
{
    int n = side * side, count = 0, *number = new_numbers(n, in_order, random);
    Entry *entries = allocate(5 * (size_t)n, sizeof *entries);
    for (int r = 0; r < side; r++)
        for (int c = 0; c < side; c++) {
            int i = number[side * r + c];
            entries[count++] = (Entry){i, i};
            if (r > 0)
                entries[count++] = (Entry){i, number[side * (r - 1) + c]};
            if (r < side - 1)
                entries[count++] = (Entry){i, number[side * (r + 1) + c]};
            if (c > 0)
                entries[count++] = (Entry){i, number[side * r + c - 1]};
            if (c < side - 1)
                entries[count++] = (Entry){i, number[side * r + c + 1]};
        }
    Matrix a = from_entries(n, entries, count);
    for (int i = 0; i < n; i++)
        for (int k = a.start[i]; k < a.start[i + 1]; k++)
            a.value[k] = a.column[k] == i ? 4.01 : -1.0;
    free(entries);
    free(number);
    return a;
}

#endif
