// Values that cross calls: variable arguments, structures by value, callbacks of the library, strings.
#define _XOPEN_SOURCE 700
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct big { long a[5]; };
struct pair { int a, b; };
static volatile int zero;
static char text[32];

__attribute__((noinline)) static double total(const char *kinds, ...) {
  va_list list, again;
  va_start(list, kinds);
  va_copy(again, list);
  double sum = 0;
  for (const char *k = kinds; *k; k++) sum += *k == 'd' ? va_arg(list, double) : va_arg(list, int);
  va_end(list);
  sum += kinds[0] == 'd' ? va_arg(again, double) : va_arg(again, int);
  va_end(again);
  return sum;
}

__attribute__((noinline)) static long by_value(struct big b, int place) {
  b.a[place] += 3;
  return b.a[0] + b.a[place];
}

__attribute__((noinline)) static struct big make(int n) {
  struct big b;
  for (int i = 0; i < 5; i++) b.a[i] = i * n;
  return b;
}

__attribute__((noinline)) static struct pair swapped(struct pair p) { return (struct pair){p.b, p.a}; }

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

__attribute__((noinline)) static void words(const char *from) {
  strcpy(text, from);
  text[1] = '_';
  size_t length = strlen(text);
  memcpy(text + length, from, 3);
  text[length + 3] = 0;
  char own[12];
  swab(text, own + 2, 6);  // a function that nothing is known of
  text[3] = own[4];
}

int main(void) {
  double sum = total("idd", zero + 3, 2.5, 1.0) + total("dddddddddiiiiiii", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
                                                        9.0 + zero, 1, 2, 3, 4, 5, 6, 7 + zero);
  struct big b = make(2 + zero);
  sum += by_value(b, 2 + zero) + by_value(make(zero + 4), 1);
  struct pair p = swapped((struct pair){zero + 1, 5});
  words("hello");
  sum += p.a + sorted(9 + zero) + memcmp(text, "h_llo", 5) + strcmp(text, "h");
  printf("%d %s|%s\n", (int)sum, text, "abcdef" + zero);
  puts(text + 2);
  return (int)sum & 1;
}
