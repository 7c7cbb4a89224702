// Atomic operations: each reads and writes its cell, whether it takes effect or not.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static volatile int zero;
static _Atomic int counter;
static _Atomic int64_t wide;

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
  int sum = atomics(5 + zero);
  printf("%d\n", sum);
  return sum & 127;
}
