/* y = A x in CSR form, 100,000 rows of 8 entries in random columns. */
#include "kernel_clock.h"

#define N 100000
#define ROW 8

__attribute__((noinline)) static void spmv(const int *start, const int *column, const double *value, const double *x,
                                           double *y) {
  for (int row = 0; row < N; row++) {
    double sum = 0;
    for (int k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
    y[row] = sum;
  }
}

int main(int argc, char **argv) {
  int *start = malloc((N + 1) * sizeof *start), *column = malloc(N * ROW * sizeof *column);
  double *value = malloc(N * ROW * sizeof *value), *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
  unsigned long state = 1;
  for (int row = 0; row <= N; row++) start[row] = row * ROW;
  for (int k = 0; k < N * ROW; k++) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    column[k] = (int)((state >> 33) % N);
    value[k] = (double)(state >> 40) * 1e-8;
  }
  for (int i = 0; i < N; i++) x[i] = i * 1e-3;
  TIMED(argc > 1 ? atoi(argv[1]) : 5, spmv(start, column, value, x, y));
  double sum = 0;
  for (int i = 0; i < N; i++) sum += y[i];
  printf("%.6e\n", sum);
  return 0;
}
