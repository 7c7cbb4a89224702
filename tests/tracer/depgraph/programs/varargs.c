// Variable arguments: in registers and on the stack, structures, wide integers; a list that is copied, handed on, begun
// again, and given to the library.
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

struct point { double x; int more[6]; };

__attribute__((noinline)) static int mixed(int n, ...) {
  va_list list;
  va_start(list, n);
  int sum = 0;
  for (int i = 0; i < n; i++) {
    struct point p = va_arg(list, struct point);
    long where = va_arg(list, long);
    unsigned char *text = va_arg(list, unsigned char *);
    __int128 wide = va_arg(list, __int128);
    sum += (int)p.x + p.more[i] + (int)where + text[1] + (int)(wide >> 60);
  }
  va_end(list);
  return sum;
}

__attribute__((noinline)) static int told(const char *format, ...) {
  va_list list;
  va_start(list, format);
  int first = va_arg(list, int);
  int count = vprintf(format, list);
  va_end(list);
  return first + 0 * count;
}

static any called[1] = {halves};

int main(void) {
  double sum = total("idd", zero + 3, 2.5, 1.0) + total("dddddddddiiiiiii", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
                                                        9.0 + zero, 1, 2, 3, 4, 5, 6, 7 + zero);
  sum += halves(3, 4, zero + 5, 6) + called[zero](8, 1, 2, 3, 4, 5, 6, 7, 8 + zero);
  struct point p = {1.5 + zero, {1, zero + 2, 3}}, q = p;
  q.more[1] = zero + 9;
  char text[] = "abc";
  text[1] = (char)('0' + zero);
  __int128 wide = ((__int128)(zero + 5)) << 61;
  sum += mixed(2, p, 7L + zero, text, wide, q, 8L, text + zero, wide + 1);
  sum += told("%d %f %d %d %d %d %d %d %s\n", zero + 3, 4, 2.5 + zero, 1, 2, 3, 4, zero + 5, 6, text);
  printf("%d\n", (int)sum);
  return (int)sum & 127;
}
