// Variable arguments: in registers and on the stack, a list that is copied, handed on, and begun again.
#include <stdarg.h>
#include <stdio.h>

static volatile int zero;
typedef int (*any)(int, ...);

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

__attribute__((noinline)) static int rest(int n, va_list *list) {
  int sum = 0;
  while (n-- > 0) sum += va_arg(*list, int);
  return sum;
}

__attribute__((noinline)) static int halves(int n, ...) {
  va_list list;
  va_start(list, n);
  int front = rest(n / 2, &list), back = rest(n - n / 2, &list);
  va_end(list);
  va_start(list, n);
  int first = va_arg(list, int);
  va_end(list);
  return front * 3 + back + first;
}

static any called[1] = {halves};

int main(void) {
  double sum = total("idd", zero + 3, 2.5, 1.0) + total("dddddddddiiiiiii", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
                                                        9.0 + zero, 1, 2, 3, 4, 5, 6, 7 + zero);
  sum += halves(3, 4, zero + 5, 6) + called[zero](8, 1, 2, 3, 4, 5, 6, 7, 8 + zero);
  printf("%d\n", (int)sum);
  return (int)sum & 127;
}
