// An own `operator new` and nothing else: the library's `new[]` calls it, and it may throw there.
#include <cstddef>
#include <cstdlib>
#include <new>
static long asked, made;
static int *volatile kept;  // else clang may leave out what is allocated and freed again
void *operator new(std::size_t size) {
  asked++;
  if (size > 1000) throw 5;
  made += long(size);
  return std::malloc(size);
}
struct Guard { long *count; ~Guard() { ++*count; } };
static int fill(int n) {
  int *part = new int[n], *one = new int(n);
  kept = part;
  for (int k = 0; k < n; k++) part[k] = k + *one;
  int last = kept[n - 1];
  delete[] part;
  kept = one;
  delete one;
  return last;
}
int main() {
  long cleaned = 0;
  int sum = 0;
  for (int i = 1; i < 9; i++) {
    try {
      Guard guard{&cleaned};
      sum += fill(i % 4 ? i : 100 * i);
    } catch (int value) { sum += value; }
  }
  return int(sum + asked + made + cleaned) & 63;
}
