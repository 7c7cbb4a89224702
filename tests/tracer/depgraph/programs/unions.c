// Unions: what is written under one type is read under another, in parts and across the borders of members.
#include <stdint.h>
#include <stdio.h>

union number {
  double real;
  uint64_t bits;
  uint8_t bytes[8];
  struct { uint16_t low, high; uint32_t rest; } parts;
};
union tagged {
  struct { int kind; int whole; } as_int;
  struct { int kind; float real; } as_float;
  struct { int kind; char text[4]; } as_text;
  char raw[8];
};
static volatile int zero;
static union tagged table[3];

__attribute__((noinline)) static uint64_t through(union number *n, double x, int place) {
  n->real = x;
  n->bytes[place & 7] ^= 0x5a;
  n->parts.high += 3;
  return n->bits;
}

__attribute__((noinline)) static int read_as(const union tagged *t) {
  switch (t->as_int.kind) {
    case 0: return t->as_int.whole;
    case 1: return (int)(t->as_float.real * 4);
    default: return t->as_text.text[1] + t->raw[6];
  }
}

int main(void) {
  union number n[2];
  uint64_t u = through(&n[zero], 1.5, zero + 2) + through(&n[1 - zero], 0.25, 7);
  table[0].as_int.whole = 21 + zero;
  table[1].as_float.real = 2.5f + zero;
  table[1].as_int.kind = 1;
  table[2].as_int.whole = 0x01020304;
  table[2].as_text.text[1] = (char)(5 + zero);
  table[2].raw[0] = 2;
  int sum = 0;
  for (int i = 0; i < 3; i++) sum += read_as(table + i + zero);
  printf("%d %lx %d\n", sum, (unsigned long)u, n[zero].parts.low);
  return sum & 127;
}
