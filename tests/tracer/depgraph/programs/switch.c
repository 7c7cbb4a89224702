// Switches: sparse and dense, with ways that fall through or join, over wide and negative values, in loops.
#include <stdio.h>

static volatile int zero;

__attribute__((noinline)) static int choose(int x) {
  int r = 0;
  switch (x) {
    case 0: r = 5; break;
    case 1: r = zero + 6; // falls through
    case 2: r += 7; break;
    case 9: return 8;
    default: r = x > 4 ? zero : -x;
  }
  return r + 1;
}

__attribute__((noinline)) static long wide(long x) {
  switch (x) {
    case -5000000000: return x / 2;
    case -1: return 1 + zero;
    case 7000000000: return 3;
    default: return x;
  }
}

__attribute__((noinline)) static int machine(const char *text, int *cells) {
  int at = 0;
  for (; *text; text++) {
    switch (*text) {
      case '+': cells[at]++; break;
      case '-': cells[at]--; break;
      case '>': at++; break;
      case '<': at--; break;
      case '*': cells[at] *= cells[at + 1]; break;
      case '=': cells[at + 1] = cells[at]; break;
      case '.': return cells[at];
    }
  }
  return -1;
}

int main(void) {
  int cells[4] = {zero, 2, 3, 4}, sum = 0;
  for (int i = 0; i < 11; i++) sum += choose(i + zero);
  sum += (int)(wide(-5000000000 + zero) + wide(zero - 1) + wide(7000000000 + zero) + wide(11 + zero));
  sum += machine(">+++=<++>*<=.", cells);
  printf("%d\n", sum);
  return sum & 127;
}
