// Structures that are assigned, passed, returned, nested, with padding that nobody writes.
#include <stdio.h>

struct record { char tag; int count; double value[2]; short last; };
struct big { long a[5]; };
struct pair { int a, b; };
struct nested { struct record inner; struct pair pairs[2]; char end; };
static volatile int zero;
static struct record table[4];
static struct nested whole, other;

__attribute__((noinline)) static int copies(struct record *r, int n) {
  r[0].tag = 'a';
  r[0].count = n;
  r[0].value[1] = 0.5 * n;
  struct record copy = r[0];
  copy.count++;
  r[1] = copy;
  r[2] = r[1];
  r[2].tag = r[0].tag;
  return r[2].count + (int)r[2].value[1] + r[1].tag;
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

__attribute__((noinline)) static struct nested deeper(struct nested n) {
  n.inner = table[1];
  n.pairs[1] = swapped(n.pairs[0]);
  return n;
}

int main(void) {
  int sum = copies(table, 5 + zero);
  struct big b = make(2 + zero);
  sum += (int)(by_value(b, 2 + zero) + by_value(make(zero + 4), 1) + b.a[3]);
  whole.pairs[0] = (struct pair){zero + 1, 5};
  other = deeper(whole);
  whole = other;
  sum += whole.inner.count + whole.pairs[1].a * 10 + whole.pairs[1].b + (int)other.inner.value[1];
  printf("%d\n", sum);
  return sum & 127;
}
