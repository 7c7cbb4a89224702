// Calls through tables, structures, arguments, results and other names; callbacks of the C library.
#include <stdio.h>
#include <stdlib.h>

static volatile int zero;
typedef int (*step)(int);
struct shape { step area; const char *name; int side; };

int twice(int x) { return 2 * x; }
int doubled(int x) __attribute__((alias("twice")));  // another name of it
static int less(int x) { return x - 3; }
static step steps[2] = {twice, less};
static struct shape shapes[2] = {{twice, "two", 4}, {less, "less", 9}};

__attribute__((noinline)) static step pick(int n) { return n & 1 ? less : twice; }
__attribute__((noinline)) static int apply(step f, int x) { return f(f(x)); }

static int by_size(const void *a, const void *b) { return *(const short *)a - *(const short *)b; }

__attribute__((noinline)) static int sorted(int n) {
  short *numbers = malloc(n * sizeof *numbers);
  for (int i = 0; i < n; i++) numbers[i] = (short)((i * 37) % 11);
  qsort(numbers, 2, sizeof *numbers, by_size);
  for (int i = 0; i < n; i++) numbers[i] = (short)(3 * i - numbers[i] / 8);
  short key = numbers[2];
  short *found = bsearch(&key, numbers, n, sizeof *numbers, by_size);
  *found += 1;
  int sum = 0;
  for (int i = 0; i < n; i++) sum += i * numbers[i];
  free(numbers);
  return sum;
}

int main(void) {
  int sum = sorted(9 + zero) + doubled(zero + 8) + apply(doubled, zero + 1);
  for (int i = 0; i < 5; i++) sum += steps[(i + zero) % 2](i) + apply(pick(i + zero), i);
  for (int i = 0; i < 2; i++) sum += shapes[i + zero].area(shapes[i].side) + shapes[i].name[0];
  printf("%d\n", sum);
  return sum & 127;
}
