// Vectors: lanes that are replaced and exchanged, written whole and read in parts.
#include <stdio.h>

typedef int four __attribute__((vector_size(16)));
typedef char bytes __attribute__((vector_size(16)));
typedef double pair __attribute__((vector_size(16)));
static volatile int zero;
static int data[40];

__attribute__((noinline)) static four mixed(four a, four b, int lane) {
  four c = a * b + (a > b);
  c[lane & 3] = 9;
  return __builtin_shufflevector(c, a, 3, 5, 0, 2);
}

__attribute__((noinline)) static int lanes(int *p) {
  four a, b;
  __builtin_memcpy(&a, p + 1, 16);
  b = a + 3;
  *(four *)(p + 8) = mixed(a, b, p[0]);
  p[9] = 5;
  bytes c = *(bytes *)(p + 8);
  c[6] = 1;
  *(bytes *)(p + 12) = c;
  int sum = 0;
  for (int i = 8; i < 16; i++) sum += p[i];
  return sum;
}

__attribute__((noinline)) static double reals(const int *from, int n) {
  pair sum = {0, 1}, scale = {0.5, 2};
  for (int i = 0; i + 1 < n; i += 2) sum = sum * scale + (pair){from[i], from[i + 1]};
  return sum[0] - sum[1];
}

int main(void) {
  for (int i = 0; i < 40; i++) data[i] = i * 3 + zero;
  int sum = lanes(data) + data[21] + (int)reals(data, 6 + zero);
  printf("%d\n", sum);
  return sum & 127;
}
