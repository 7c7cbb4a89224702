/* Arithmetic on the orders of a schedule, and on the pieces of an array that each iteration walks through. */
#include <stdint.h>
#include <string.h>

/* Whether order[i] = i for all i. */
int32_t tc_unchanged(const int32_t *order, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (order[i] != (int32_t)i) return 0;
    return 1;
}

/* out[order[i]] = i. */
void tc_inverse(int32_t *out, const int32_t *order, int64_t count) {
    for (int64_t i = 0; i < count; i++) out[order[i]] = (int32_t)i;
}

/* out[i] = order[i] - by. */
void tc_shifted(int32_t *out, const int32_t *order, int64_t count, int32_t by) {
    for (int64_t i = 0; i < count; i++) out[i] = order[i] - by;
}

/* The order of records that are walked from the last one down: out[i] = count - 1 - order[count - 1 - i]. */
void tc_reversed(int32_t *out, const int32_t *order, int64_t count) {
    for (int64_t i = 0; i < count; i++) out[i] = (int32_t)(count - 1) - order[count - 1 - i];
}

/* Signed numbers of `width` bytes, `stride` apart, as 64-bit ones. */
void tc_widened(int64_t *out, const char *at, int64_t count, int64_t stride, int32_t width) {
#define WIDEN(TYPE)                                                                                               \
    for (int64_t i = 0; i < count; i++, at += stride) {                                                           \
        TYPE value;                                                                                               \
        memcpy(&value, at, sizeof value);                                                                         \
        out[i] = value;                                                                                           \
    }
    switch (width) {
    case 1: WIDEN(int8_t) return;
    case 2: WIDEN(int16_t) return;
    case 4: WIDEN(int32_t) return;
    case 8: WIDEN(int64_t) return;
    }
}

static void put_number(char *out, int64_t place, int32_t width, int64_t value) {
    memcpy(out + place * width, &value, (size_t)width); /* the low bytes come first */
}

static int64_t number_at(const char *at, int64_t place, int32_t width) {
    int64_t value;
    tc_widened(&value, at + place * width, 1, width, width);
    return value;
}

/* Bounds of rows that follow each other in another order, the first one as it was: one more than there are rows. */
void tc_row_bounds(char *out, const char *bounds, const int32_t *order, int64_t rows, int32_t width) {
    int64_t sum = number_at(bounds, 0, width);
    put_number(out, 0, width, sum);
    for (int64_t i = 0; i < rows; i++) {
        sum += number_at(bounds, order[i] + 1, width) - number_at(bounds, order[i], width);
        put_number(out, i + 1, width, sum);
    }
}

/* Where the pieces start (or end) when they follow each other in a new order: `count` numbers of `width` bytes. */
void tc_piece_offsets(char *out, const int32_t *order, const int32_t *length, int64_t jobs, int64_t count,
                      int32_t width, int32_t ends) {
    int64_t sum = 0, place = 0;
    if (!ends && count > 0) put_number(out, place++, width, 0);
    for (int64_t i = 0; i < jobs && place < count; i++) {
        sum += length[order[i]];
        put_number(out, place++, width, sum);
    }
}

/* The same numbers of each piece, `stride` bytes apart. */
void tc_put_pieces(char *out, int64_t stride, int32_t width, const int32_t *order, const int32_t *length, int64_t jobs,
                   int32_t ends) {
    int64_t sum = 0;
    for (int64_t i = 0; i < jobs; i++) {
        int64_t next = sum + length[order[i]], value = ends ? next : sum;
        memcpy(out + i * stride, &value, (size_t)width);
        sum = next;
    }
}

/* Where they start (or end) in the program, in the new order; one number more is the end of the last one. */
void tc_piece_places(char *out, const int32_t *order, const int64_t *first, const int32_t *length, int64_t jobs,
                     int64_t count, int32_t width, int32_t ends) {
    int64_t last = 0;
    for (int64_t i = 0; i < jobs && i < count; i++) {
        last = first[order[i]] + (ends ? length[order[i]] : 0);
        put_number(out, i, width, last);
    }
    if (count > jobs && jobs > 0) put_number(out, jobs, width, last + length[order[jobs - 1]]);
}

/* out: the first record of any piece that has one, the record behind the last, and how many there are in all. */
void tc_piece_range(int64_t *out, const int64_t *first, const int32_t *length, int64_t jobs) {
    out[0] = out[1] = out[2] = 0;
    for (int64_t i = 0; i < jobs; i++) {
        if (length[i] <= 0) continue;
        int64_t end = first[i] + length[i];
        if (!out[2] || first[i] < out[0]) out[0] = first[i];
        if (!out[2] || end > out[1]) out[1] = end;
        out[2] += length[i];
    }
}
