/* strassen16: product of two matrices of 16 x 16. */
#define SIZE 16
#define NAME "strassen16"
#define EXPECTED 11105740L
#include "strassen.h"
