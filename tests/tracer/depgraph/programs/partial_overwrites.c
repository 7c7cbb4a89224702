// Bytes, halves and words over one another: a read takes bytes of up to eight writers.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static volatile int zero;
static _Alignas(4096) char shared[8192];

__attribute__((noinline)) static int partly(char *buffer, int size) {
  memset(buffer, 1, size);
  *(int *)(buffer + 3) = 0x01020304;
  buffer[5] = 9;
  *(short *)(buffer + 6) = 77;
  int sum = 0;
  for (int i = 0; i + 8 <= size; i += 5) {
    int64_t word;
    memcpy(&word, buffer + i, 8);
    sum += (int)(word ^ (word >> 32));
  }
  return sum;
}

__attribute__((noinline)) static uint64_t by_bytes(char *at, int n) {
  for (int i = 0; i < n; i++) at[i] = (char)(i * 3);
  at[2] = 1;
  uint64_t all = *(uint64_t *)at;
  *(double *)at = 2.0;
  at[7] = 0;
  return all + *(uint64_t *)at + *(uint32_t *)(at + 5);
}

int main(void) {
  char buffer[64];
  int sum = partly(buffer, 40 + zero);
  sum += (int)(by_bytes(shared + 4092, 9 + zero) + by_bytes(shared + 4090 + zero, 8));  // across the border of a page
  printf("%d\n", sum);
  return sum & 127;
}
