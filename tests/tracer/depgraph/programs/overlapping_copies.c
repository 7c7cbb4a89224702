// memmove onto itself, forwards and backwards, memcpy into the middle of what another memcpy wrote, lengths at run time.
#include <stdio.h>
#include <string.h>

static volatile int zero;
static char far[70];

__attribute__((noinline)) static void slide(char *buffer, int size, int by) {
  memmove(buffer + by, buffer, size - by);
  memmove(buffer, buffer + 2 * by, size - 2 * by);
  memmove(buffer + 1, buffer + 1, by);
}

__attribute__((noinline)) static void shingles(char *to, const char *from, int n) {
  for (int i = 0; i + 9 <= n; i += 4) memcpy(to + i, from + n - 9 - i, 9);
  memcpy(to + 3, to + 20, 3);
  memcpy(to + 30, from, zero);
}

int main(void) {
  char buffer[64];
  for (int i = 0; i < 40; i++) buffer[i] = (char)(i + zero);
  slide(buffer, 40 + zero, 7);
  shingles(far, buffer, 40 + zero);
  memset(far + 11, 2, 5 + zero);
  long word;
  memcpy(&word, far + 9, sizeof word);
  int sum = (int)(word ^ (word >> 32));
  for (int i = 0; i < 40; i++) sum += i * far[i];
  printf("%d\n", sum);
  return sum & 127;
}
