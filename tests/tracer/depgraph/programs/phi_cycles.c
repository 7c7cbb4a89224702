// Phis that exchange values: rotations and swaps in loops, in loops of loops, and with a way out in the middle.
#include <stdio.h>

static volatile int zero;

__attribute__((noinline)) static int rotate(int n) {
  int a = 1, b = 2, c = 3;
  for (int i = 0; i < n; i++) {
    int t = a;
    a = b;
    b = c;
    c = t + (i & 1);
  }
  return 100 * a + 10 * b + c;
}

__attribute__((noinline)) static int swap(int n, int x, int y) {
  while (n-- > 0) {
    int t = x;
    x = y;
    y = t;
    if (x > 40 + n) break;
    for (int i = 0; i < 2; i++) {
      int u = x;
      x = y + i;
      y = u;
    }
  }
  return 3 * x - y;
}

__attribute__((noinline)) static int exchange(int n, int x, int y) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    int t = x;
    x = y;
    y = t;
    sum = 3 * sum + x;
  }
  return sum;
}

__attribute__((noinline)) static int gcd(int a, int b) {
  while (b) {
    int t = a % b;
    a = b;
    b = t;
  }
  return a;
}

int main(void) {
  int sum = rotate(7 + zero) + swap(5 + zero, 3, 8) + swap(9, 38, zero + 41) + gcd(84 + zero, 30);
  sum += exchange(5 + zero, 2, 7);
  printf("%d\n", sum);
  return sum & 127;
}
