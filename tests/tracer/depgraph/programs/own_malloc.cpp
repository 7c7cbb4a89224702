// An own `malloc` and `free`: the library's `new`, `delete` and `strdup` call them.
#include <cstddef>
#include <cstring>
alignas(16) static long room[4000];
static long used, freed;
extern "C" __attribute__((noinline)) void *malloc(std::size_t size) {
  long need = 2 + 2 * long((size + 15) / 16);
  if (need > 4000 - used) return nullptr;  // what the C++ library puts aside when it begins
  long *found = room + used + 2;
  found[-1] = long(size);
  used += need;
  return found;
}
extern "C" __attribute__((noinline)) void free(void *memory) {
  if (memory) freed += static_cast<long *>(memory)[-1];
}
static char *volatile kept;  // else clang may leave out what is allocated and freed again
static int twice(const char *text) {
  char *copy = strdup(text), *more = new char[std::strlen(text) + 1];
  kept = more;
  std::strcpy(more, copy);
  more[0] ^= copy[1];
  int found = kept[0];
  delete[] more;
  kept = copy;
  free(kept);
  return found;
}
int main() {
  long sum = 0, before = used;
  freed = 0;
  for (int i = 0; i < 10; i++) {
    int *one = new int(i);
    kept = reinterpret_cast<char *>(one);
    sum += twice(i & 1 ? "odd" : "and even") + *one;
    delete one;
  }
  return int(sum + used - before + freed) & 63;
}
