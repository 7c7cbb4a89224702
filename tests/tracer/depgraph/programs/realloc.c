// realloc that grows, shrinks, starts from nothing and ends in nothing; memory that is freed and handed out again.
#include <stdio.h>
#include <stdlib.h>

static volatile int zero;

__attribute__((noinline)) static int heap(int n) {
  int *first = malloc(n * sizeof *first), *zeros = calloc(n, sizeof *zeros), sum = 0;
  for (int i = 0; i < n; i++) {
    zeros[i / 2] += i;
    first[i] = i + zeros[i];
  }
  first = realloc(first, 3 * n * sizeof *first);
  for (int i = n; i < 2 * n; i++) first[i] = first[i - n] * 2;
  first = realloc(first, n / 2 * sizeof *first);
  for (int i = 0; i < n / 2; i++) sum += first[i];
  free(first);
  for (int turn = 0; turn < 3; turn++) {  // the same memory again: nothing that was there before counts
    char *again = malloc(24);
    again[turn] = (char)turn;
    sum += again[turn];
    free(again);
  }
  free(zeros);
  return sum;
}

__attribute__((noinline)) static int growing(int n) {
  int *list = NULL, room = 0, sum = 0;
  for (int count = 0; count < n; count++) {
    if (count == room) {
      room = room ? 2 * room : 1;
      list = realloc(list, room * sizeof *list);
    }
    list[count] = count * count;
  }
  for (int i = 0; i < n; i++) sum += list[i];
  free(list);
  return sum;
}

int main(void) {
  int sum = heap(10 + zero) + growing(9 + zero);
  printf("%d\n", sum);
  return sum & 127;
}
