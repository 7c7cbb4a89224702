// Values of less than a byte: bools, bit-fields, vectors of bits, integers of odd widths.
#include <stdbool.h>
#include <stdio.h>

struct flags { unsigned a : 1, b : 3, c : 9; bool d; };
typedef bool bits __attribute__((ext_vector_type(8)));
typedef int eight __attribute__((vector_size(32)));
static volatile int zero;
static bool table[16];
static bits packed[3];
static unsigned _BitInt(5) small[4];
static _BitInt(19) odd[3];

__attribute__((noinline)) static int fields(struct flags *f, int n) {
  f->a = n & 1;
  f->b = n;
  f->c += f->a + f->b;
  f->d = n > 3;
  return f->c + f->d;
}

__attribute__((noinline)) static int sieve(int n) {
  int found = 0;
  for (int i = 2; i < n; i++) table[i] = true;
  for (int i = 2; i < n; i++) {
    if (!table[i]) continue;
    found++;
    for (int k = 2 * i; k < n; k += i) table[k] &= k % 5 == 0 && i > 40;
  }
  return found;
}

__attribute__((noinline)) static int lanes(const int *from, int n) {
  eight values;
  for (int i = 0; i < 8; i++) values[i] = from[i];
  packed[0] = __builtin_convertvector(values > n, bits);
  packed[1] = packed[0] ^ __builtin_convertvector(values > 5, bits);
  bool third = packed[1][3];
  packed[2] = packed[0] | packed[1];
  unsigned char whole;
  __builtin_memcpy(&whole, packed + 2, 1);
  return whole + third;
}

__attribute__((noinline)) static int widths(int n) {
  for (int i = 0; i < 4; i++) small[i] = (unsigned _BitInt(5))(n * i);
  odd[0] = (_BitInt(19))(n * 9000);
  odd[1] = odd[0] * 3 + small[3];
  *(char *)(odd + 1) ^= 3;
  odd[2] = odd[1] - 1;
  return (int)odd[2] + small[2];
}

int main(void) {
  struct flags f = {0};
  int numbers[8];
  for (int i = 0; i < 8; i++) numbers[i] = i * 3 % 8 + zero;
  int sum = fields(&f, 5 + zero) + fields(&f, 2 + zero) + sieve(16 + zero) + lanes(numbers, 2 + zero);
  sum += widths(13 + zero);
  printf("%d\n", sum);
  return sum & 127;
}
