/* Radix-2 FFT of 1024 points, in place, twiddle factors from a table. */
#include "kernel_clock.h"
#include <math.h>

#define N 1024
static double re[N], im[N], wr[N / 2], wi[N / 2];

__attribute__((noinline)) static void fft(void) {
  for (int len = N / 2; len >= 1; len /= 2) {
    int step = N / 2 / len;
    for (int i = 0; i < N; i += 2 * len)
      for (int j = 0; j < len; j++) {
        double ar = re[i + j], ai = im[i + j], br = re[i + j + len], bi = im[i + j + len];
        double dr = ar - br, di = ai - bi, c = wr[j * step], s = wi[j * step];
        re[i + j] = ar + br;
        im[i + j] = ai + bi;
        re[i + j + len] = dr * c - di * s;
        im[i + j + len] = dr * s + di * c;
      }
  }
}

int main(int argc, char **argv) {
  for (int i = 0; i < N / 2; i++) {
    wr[i] = cos(2 * M_PI * i / N);
    wi[i] = -sin(2 * M_PI * i / N);
  }
  for (int i = 0; i < N; i++) {
    re[i] = sin(0.1 * i) * 1e-3;
    im[i] = 0;
  }
  TIMED(argc > 1 ? atoi(argv[1]) : 20, fft());
  printf("%.6e\n", re[1] + im[2]);
  return 0;
}
