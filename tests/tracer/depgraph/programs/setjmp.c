// setjmp and longjmp: over many frames, out of a loop, again and again from one place.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int zero;
static jmp_buf back, outer;

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

__attribute__((noinline)) static void bail(int n) {
  if (n % 3 == 2) longjmp(outer, n + 1);
}

__attribute__((noinline)) static int turns(int n) {
  volatile int sum = 0, i = 0;
  while (i < n) {
    int came = setjmp(outer);
    if (came) {
      sum += 10 * came;
      i = came;
      continue;
    }
    for (; i < n; i++) {
      bail(i);
      sum += i;
    }
  }
  return sum;
}

int main(void) {
  int sum = jumping(3 + zero) + turns(7 + zero);
  printf("%d\n", sum);
  if (sum) exit(sum & 127);
  return 0;
}
