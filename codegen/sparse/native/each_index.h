/* The templates for one value type: 32-bit and 64-bit indices of matrices, 16-bit and 32-bit ones of slices. */
#define INDEX u32
#define INDEX_BITS 32
#include "csr.h"
#include "row_vector.h"
#include "sliced_values.h"
#include "permuted.h"
#include "tiled_build.h"
#undef INDEX
#undef INDEX_BITS
#define INDEX u64
#define INDEX_BITS 64
#include "csr.h"
#include "row_vector.h"
#include "sliced_values.h"
#include "permuted.h"
#include "tiled_build.h"
#undef INDEX
#undef INDEX_BITS
#define COLUMN u16
#define COLUMN_BITS 16
#include "slice.h"
#undef COLUMN
#undef COLUMN_BITS
#define COLUMN u32
#define COLUMN_BITS 32
#include "slice.h"
#undef COLUMN
#undef COLUMN_BITS
#include "vectors.h"
#define INDEX u32
#include "sliced.h"
#include "tiled.h"
#undef INDEX
