/* strassen8: product of two matrices of 8 x 8. */
#define SIZE 8
#define NAME "strassen8"
#define EXPECTED 387304L
#include "strassen.h"
