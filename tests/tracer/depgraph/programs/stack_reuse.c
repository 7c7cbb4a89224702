// Stack slots that lie where others lay: of functions called in turn, of variable length, of blocks in a loop.
#include <alloca.h>
#include <stdio.h>
#include <string.h>

static volatile int zero;

__attribute__((noinline)) static int fill(int n) {
  int own[8];
  for (int i = 0; i < n; i++) own[i] = i * n;
  return own[n - 1];
}

__attribute__((noinline)) static int half(int n) {
  char own[32];  // most of it is never written: what `fill` left there is not read
  memset(own, n, 8);
  own[20] = own[3];
  return own[20] + own[7];
}

__attribute__((noinline)) static int reuse(int n) {
  int sum = 0;
  for (int i = 1; i < n; i++) {
    int open[i + 1];
    open[i] = fill(i) + half(i);
    open[0] = sum;
    sum = open[0] + open[i];
    {
      int block[4] = {i, sum};
      sum += block[i & 3];
    }
  }
  return sum;
}

__attribute__((noinline)) static int grown(int n) {
  int *last = NULL, sum = 0;
  for (int i = 0; i < n; i++) {
    int *here = alloca((i + 1) * sizeof *here);
    here[i] = last ? last[i - 1] + i : 1;
    last = here;
  }
  for (int i = 0; i < 1; i++) sum += last[n - 1];
  return sum;
}

int main(void) {
  int sum = reuse(5 + zero) + grown(4 + zero);
  printf("%d\n", sum);
  return sum & 127;
}
