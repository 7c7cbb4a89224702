// Bytes that overlap, in every way that C has.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

union number {
  double real;
  uint64_t bits;
  uint8_t bytes[8];
  struct { uint16_t low, high; uint32_t rest; } parts;
};
struct record { char tag; int count; double value[2]; short last; };
struct flags { unsigned a : 1, b : 3, c : 9; _Bool d; };
typedef unsigned __int128 wide;

static volatile int zero;
static struct record table[4];

__attribute__((noinline)) static uint64_t through_union(double x, int place) {
  union number n;
  n.real = x;
  n.bytes[place & 7] ^= 0x5a;
  n.parts.high += 3;
  return n.bits;
}

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

__attribute__((noinline)) static void slide(char *buffer, int size, int by) {
  memmove(buffer + by, buffer, size - by);
  memmove(buffer, buffer + 2 * by, size - 2 * by);
}

__attribute__((noinline)) static int structs(struct record *r, int n) {
  r[0].tag = 'a';
  r[0].count = n;
  r[0].value[1] = 0.5 * n;
  struct record copy = r[0];
  copy.count++;
  r[1] = copy;
  r[2] = r[1];
  r[2].tag = r[0].tag;
  return r[2].count + (int)r[2].value[1] + r[1].tag;
}

__attribute__((noinline)) static int bits(struct flags *f, int n) {
  f->a = n & 1;
  f->b = n;
  f->c += f->a + f->b;
  f->d = n > 3;
  return f->c + f->d;
}

__attribute__((noinline)) static wide wide_sum(wide *w, int n) {
  wide sum = 1;
  for (int i = 0; i < n; i++) {
    w[i] = sum * (wide)(i + 3) + ((wide)i << 70);
    sum += w[i] >> 5;
  }
  ((uint32_t *)w)[1] = 7;
  return sum + w[0];
}

__attribute__((noinline)) static int heap(int n) {
  int *first = malloc(n * sizeof *first), *zeros = calloc(n, sizeof *zeros), sum = 0;
  for (int i = 0; i < n; i++) first[i] = i + zeros[i];
  first = realloc(first, 3 * n * sizeof *first);
  for (int i = n; i < 2 * n; i++) first[i] = first[i - n] * 2;
  first = realloc(first, n / 2 * sizeof *first);
  for (int i = 0; i < n / 2; i++) sum += first[i];
  free(first);
  for (int turn = 0; turn < 3; turn++) {  // the same memory again: nothing that was there before counts
    char *again = malloc(24);
    again[turn] = (char)turn;
    sum += again[turn];
    free(again);
  }
  free(zeros);
  return sum;
}

int main(void) {
  char buffer[64];
  struct flags f = {0};
  wide w[4];
  uint64_t u = through_union(1.5, zero + 2);
  int sum = partly(buffer, 40 + zero);
  slide(buffer, 40 + zero, 7);
  sum += buffer[11] + structs(table, 5 + zero) + bits(&f, 5 + zero) + bits(&f, 2 + zero);
  sum += (int)wide_sum(w, 4 + zero) + heap(10 + zero);
  printf("%d %lx\n", sum, (unsigned long)u);
  return 0;
}
