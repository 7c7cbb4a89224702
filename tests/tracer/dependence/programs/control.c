// Ways through a program: recursion, jumps, function pointers, phis that exchange values, stack that is used again.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int zero;
static jmp_buf back;
typedef int (*step)(int);

static int twice(int x) { return 2 * x; }
static int less(int x) { return x - 3; }
static step steps[2] = {twice, less};

__attribute__((noinline)) static int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline)) static int odd(int n);
__attribute__((noinline)) static int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__attribute__((noinline)) static int odd(int n) { return n == 0 ? 0 : even(n - 1); }

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

__attribute__((noinline)) static void deep(int n, int *where) {
  int local[3];
  local[n % 3] = n;
  *where += local[n % 3];
  if (n == 0) longjmp(back, 4);
  deep(n - 1, where);
  *where += local[n % 3];
}

__attribute__((noinline)) static int jumping(int n) {
  volatile int kept = n;
  int sum = 0;
  int came = setjmp(back);
  if (came == 0) {
    kept++;
    deep(3, &sum);
  }
  if (came < 6) {
    kept += came;
    longjmp(back, came + 1);
  }
  return kept + came;
}

__attribute__((noinline)) static int fill(int n) {
  int own[8];
  for (int i = 0; i < n; i++) own[i] = i * n;
  return own[n - 1];
}

__attribute__((noinline)) static int reuse(int n) {
  int sum = 0;
  for (int i = 1; i < n; i++) {
    int vla[i + 1];
    vla[i] = fill(i);
    vla[0] = sum;
    sum = vla[0] + vla[i];
  }
  return sum;
}

int main(void) {
  int sum = ackermann(2, 2 + zero) + even(6 + zero) + rotate(7 + zero);
  for (int i = 0; i < 11; i++) sum += choose(i + zero) + steps[i % 2](i);
  sum += jumping(3 + zero) + reuse(5 + zero);
  printf("%d\n", sum);
  if (sum) exit(3);
  return 0;
}
