/* Sparse products for the processor that this is compiled on: one copy of the templates a value and an index type.

   A function works on the rows [first, last) alone, and what a row gives does not depend on that range: so the bits of
   a result are the same however rows are shared out among threads. Indices are unsigned: they are checked before. */
#include <stdint.h>

typedef float f32;
typedef double f64;
/* Real and imaginary part, aligned as NumPy aligns them. */
typedef float c64 __attribute__((ext_vector_type(2), aligned(4)));
typedef double c128 __attribute__((ext_vector_type(2), aligned(8)));
typedef uint32_t u32;
typedef uint64_t u64;

#define JOIN(a, b, c) a##_##b##_##c
#define NAMED(a, b, c) JOIN(a, b, c)
#define NAME(function) NAMED(function, VALUE, INDEX)
#define MUL_c64(a, b) ((c64){(a).x * (b).x - (a).y * (b).y, (a).x * (b).y + (a).y * (b).x})
#define MUL_c128(a, b) ((c128){(a).x * (b).x - (a).y * (b).y, (a).x * (b).y + (a).y * (b).x})
#define MUL_REAL(a, b) ((a) * (b))
#define IS_REAL(a, b) ((a) == (b))
#define IS_COMPLEX(a, b) ((a).x == (b) && (a).y == 0)

#define VALUE f32
#define WIDTH 16
#define MUL MUL_REAL
#define IS IS_REAL
#include "each_index.h"
#undef VALUE
#undef WIDTH
#define VALUE f64
#define WIDTH 8
#include "each_index.h"
#undef VALUE
#undef WIDTH
#undef MUL
#undef IS
#define VALUE c64
#define WIDTH 8
#define MUL MUL_c64
#define IS IS_COMPLEX
#include "each_index.h"
#undef VALUE
#undef WIDTH
#undef MUL
#define VALUE c128
#define WIDTH 4
#define MUL MUL_c128
#include "each_index.h"
