// Library functions that call the program back: what it compares lies where it was stored until they are done.
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int zero;
struct pair { int key; char kind; double weight; };
struct wide { double rest[5]; int key; };
static int turns;

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int by_key(const void *a, const void *b) {
  const struct pair *x = a, *y = b;
  turns++;
  return x->key != y->key ? x->key - y->key : x->kind - y->kind;
}

static int wide_by_key(const void *a, const void *b) { return ((const struct wide *)a)->key - ((const struct wide *)b)->key; }

static double total;
static void visited(const void *node, VISIT which, int depth) {
  if (which == leaf || which == postorder) total += (**(struct pair *const *)node).weight + 0 * depth;
}

__attribute__((noinline)) static int numbers(int n) {
  int *some = malloc(n * sizeof *some), sum = 0;
  for (int i = 0; i < n; i++) some[i] = (i * 37) % 11;
  qsort(some, n, sizeof *some, by_number);
  for (int i = 0; i < n; i++) sum += i * some[i];
  qsort(some, n / 2, sizeof *some, by_number);
  some[1] += 5;
  qsort(some, n, sizeof *some, by_number);
  for (int i = 0; i < n; i++) sum += i * some[i];
  free(some);
  return sum;
}

__attribute__((noinline)) static int pairs(int n) {
  struct pair some[12];
  for (int i = 0; i < n; i++) some[i] = (struct pair){i * 5 % 4, (char)(i % 3), i * 0.5};
  qsort(some, n, sizeof *some, by_key);
  void *root = NULL;
  for (int i = 0; i < 4; i++) tsearch(&some[(i * 4 + n / 2) % 10], &root, by_key);  // 5, 9, 3, 7: no node is moved
  twalk(root, visited);
  return some[3].key + some[5].kind + (int)total;
}

__attribute__((noinline)) static int wide(int n) {
  static struct wide some[8];
  for (int i = 0; i < n; i++) some[i].key = i * 3 % 7, some[i].rest[2] = i;
  qsort(some, n, sizeof *some, wide_by_key);
  return some[2].key + (int)some[4].rest[2];
}

__attribute__((noinline)) static int looked_up(int n) {
  int table[16], sum = 0;
  size_t count = 0;
  for (int i = 0; i < n; i++) {
    int key = i * i % 7;
    int *place = lsearch(&key, table, &count, sizeof *table, by_number);
    *place += 0;
    sum += *place;
  }
  int key = 4;
  int *found = lfind(&key, table, &count, sizeof *table, by_number);
  return sum + (found ? (int)(found - table) : 0) + (int)count;
}

int main(void) {
  int sum = numbers(9 + zero) + pairs(10 + zero) + wide(7 + zero) + looked_up(8 + zero);
  printf("%d %d\n", sum, turns);
  return sum & 127;
}
