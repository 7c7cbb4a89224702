/* The templates for one value type: 32-bit and 64-bit indices. */
#define INDEX u32
#include "csr.h"
#undef INDEX
#define INDEX u64
#include "csr.h"
#undef INDEX
