/* C = A B for dense matrices of 128 x 128 doubles, in the order i, j, k. */
#include "kernel_clock.h"

#define N 128
static double a[N][N], b[N][N], c[N][N];

__attribute__((noinline)) static void matmul(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

int main(int argc, char **argv) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      a[i][j] = (i * 7 + j) % 13;
      b[i][j] = (i + 3 * j) % 11;
    }
  TIMED(argc > 1 ? atoi(argv[1]) : 5, matmul());
  printf("%.6e\n", c[3][5] + c[N - 1][N - 2]);
  return 0;
}
