// Vectors, atomics, and single bytes of wide values.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

typedef int four __attribute__((vector_size(16)));
typedef char bytes __attribute__((vector_size(16)));
static volatile int zero;
static int data[40];
static _Atomic int counter;
static _Atomic int64_t wide;

__attribute__((noinline)) static four mixed(four a, four b, int lane) {
  four c = a * b + (a > b);
  c[lane & 3] = 9;
  return __builtin_shufflevector(c, a, 3, 5, 0, 2);
}

__attribute__((noinline)) static int vectors(int *p) {
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

__attribute__((noinline)) static int atomics(int n) {
  int expected = 4;
  atomic_fetch_add(&counter, n);
  atomic_fetch_sub(&counter, 1);
  atomic_exchange(&wide, n + 5);
  atomic_fetch_or(&wide, 16);
  int done = atomic_compare_exchange_strong(&counter, &expected, 8);
  done += atomic_compare_exchange_strong(&counter, &expected, 9);
  return done + atomic_load(&counter) + (int)atomic_load(&wide) + expected;
}

int main(void) {
  for (int i = 0; i < 40; i++) data[i] = i * 3 + zero;
  _Bool *flags = (_Bool *)(data + 20);
  for (int i = 0; i < 8; i++) flags[i] = data[i] > 10;
  int sum = vectors(data) + atomics(5 + zero) + flags[3] + flags[5] + data[21];
  printf("%d\n", sum);
  return 0;
}
