/* Sparse products for the processor that this is compiled on: one copy of the templates a value and an index type.

   A function works on the rows [first, last) alone, and what a row gives does not depend on that range: so the bits of
   a result are the same however rows are shared out among threads. Indices are unsigned: they are checked before. */
#include <stdint.h>

typedef float f32;
typedef double f64;
/* Real and imaginary part, aligned as NumPy aligns them. */
typedef float c64 __attribute__((ext_vector_type(2), aligned(4)));
typedef double c128 __attribute__((ext_vector_type(2), aligned(8)));
typedef float f32x4 __attribute__((ext_vector_type(4), aligned(4)));
typedef double f64x4 __attribute__((ext_vector_type(4), aligned(8)));
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t i64;

/* What `sliced.h` says, without the values. `count` rows are in slices. */
struct sliced {
    u64 count;
    const u64 *starts, *column_starts;
    const u16 *columns;
    const u32 *bases, *rows;
    const u8 *lengths;
};

/* What `tiled.h` says, without the values. */
struct tiled {
    const u64 *first_rows, *head_starts, *row_starts, *starts;
    const u32 *heads;
    const u16 *rows, *columns;
    u64 shift, one;
};

/* What `tiled_build.h` fills, and the room that it works in: for the entries of one block, and the rows of one. */
#define TILED_LONG 64 /* entries of a row in a tile that is not put into slices */
struct tiled_job {
    const u64 *first_rows;
    const u32 *order, *numbers;
    u64 *head_starts, *row_starts, *starts, *origin;
    u32 *heads;
    u16 *rows, *columns;
    u64 shift;
    u64 *tile_starts, *cell_entries;
    u16 *cell_rows, *cell_columns;
    u32 *moved, *run_starts, *run_lengths, *sorted;
};

/* Entries are fetched some turns ahead. Read once a product, they need not push x out of the nearest cache: on AMD's
   processors the hint says so. On Intel's servers it would bring a line into the nearest cache alone, and none of a
   matrix that fits the others would be found there: products took up to three times as long. */
#if defined(__znver1__) || defined(__znver2__) || defined(__znver3__) || defined(__znver4__) || defined(__znver5__)
#define STREAMED(place) __builtin_prefetch(place, 0, 0)
#else
#define STREAMED(place) __builtin_prefetch(place, 0, 3)
#endif

#include "gathers.h"

#define JOIN(a, b, c) a##_##b##_##c
#define NAMED(a, b, c) JOIN(a, b, c)
#define NAME(function) NAMED(function, VALUE, INDEX)
#define MUL_COMPLEX(type, a, b) ((type){(a).x * (b).x - (a).y * (b).y, (a).x * (b).y + (a).y * (b).x})

/* WIDTH: right-hand sides at once. LANES: rows of a slice. LONG: entries of a row at once. FOUR: four values. */
#define MUL(a, b) ((a) * (b))
#define IS(a, b) ((a) == (b))
#define VALUE f32
#define WIDTH 16
#define LANES 16
#define LONG 16
#define FOUR f32x4
#ifdef GATHER_f32
#define GATHER_ALL GATHER_f32
#endif
#include "each_index.h"
#undef VALUE
#undef WIDTH
#undef LANES
#undef LONG
#undef FOUR
#undef GATHER_ALL
#define VALUE f64
#define WIDTH 8
#define LANES 8
#define LONG 8
#define FOUR f64x4
#ifdef GATHER_f64
#define GATHER_ALL GATHER_f64
#endif
#include "each_index.h"
#undef VALUE
#undef WIDTH
#undef FOUR
#undef LONG
#undef MUL
#undef IS
#undef GATHER_ALL
#define IS(a, b) ((a).x == (b) && (a).y == 0)
#define LONG 4
#define VALUE c64
#define WIDTH 8
#define MUL(a, b) MUL_COMPLEX(c64, a, b)
#include "each_index.h"
#undef VALUE
#undef WIDTH
#undef MUL
#define VALUE c128
#define WIDTH 4
#define MUL(a, b) MUL_COMPLEX(c128, a, b)
#include "each_index.h"

#include "sliced_columns.h"
#include "degrees.h"
#define INDEX u32
#include "sliced_build.h"
#include "orders.h"
#include "both_products.h"
#define WALKS 1
#include "walks.h"
#define WALKS 4
#include "walks.h"
#define WALKS 8
#include "walks.h"
#undef INDEX
#define INDEX u64
#include "sliced_build.h"
#include "orders.h"
#include "both_products.h"
#define WALKS 1
#include "walks.h"
#define WALKS 4
#include "walks.h"
#define WALKS 8
#include "walks.h"
