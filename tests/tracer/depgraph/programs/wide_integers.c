// 128-bit integers: carried, shifted, compared, passed and returned, and changed word by word.
#include <stdint.h>
#include <stdio.h>

typedef unsigned __int128 wide;
static volatile int zero;
static wide cells[4];
static __int128 minus;

__attribute__((noinline)) static wide sum_of(wide *w, int n) {
  wide sum = 1;
  for (int i = 0; i < n; i++) {
    w[i] = sum * (wide)(i + 3) + ((wide)i << 70);
    sum += w[i] >> 5;
  }
  ((uint32_t *)w)[1] = 7;
  return sum + w[0];
}

__attribute__((noinline)) static wide power(wide x, int n) { return n ? x * power(x, n - 1) : 1; }
__attribute__((noinline)) static int compare(wide a, wide b) { return a < b ? -1 : a > b; }

int main(void) {
  wide w[4];
  cells[1] = sum_of(w, 4 + zero);
  cells[2] = power(cells[1] | 5, 3 + zero);
  minus = -(__int128)(cells[2] >> 1) / (3 + zero);
  ((uint64_t *)&cells[3])[1] = 9;
  ((uint64_t *)&cells[3])[0] = (uint64_t)minus;
  int sum = compare(cells[3], cells[2]) + (int)(cells[2] >> 64) + (int)(minus >> 90) + (int)(cells[3] % 1000);
  printf("%d %lx\n", sum, (unsigned long)(cells[2] >> 3));
  return sum & 127;
}
