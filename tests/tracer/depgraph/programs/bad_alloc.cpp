// Allocations that throw: called plainly in a frame without a handler, in one that cleans up, and where they are caught.
#include <cstddef>
#include <cstdio>
#include <new>
static volatile std::size_t many = std::size_t(1) << 60;
static char *volatile kept;  // else clang may leave out what is allocated and freed again
struct Guard { int *count; explicit Guard(int *c) : count(c) {} ~Guard() { ++*count; } };
__attribute__((noinline)) static char *plain(std::size_t size, int *tries) {
  ++*tries;
  kept = new char[size];
  kept[0] = char(*tries);
  return kept;
}
__attribute__((noinline)) static int guarded(std::size_t size, int *cleaned, int *tries) {
  Guard guard(cleaned);
  int before = *tries;
  char *made = plain(size, tries);
  int found = made[0] + before;
  delete[] made;
  return found;
}
int main() {
  int cleaned = 0, tries = 0, sum = 0;
  for (int i = 0; i < 5; i++) {
    std::size_t size = i % 2 ? many + i : i + 8;
    try { sum += guarded(size, &cleaned, &tries); } catch (const std::bad_alloc &) { sum += 100 * tries; }
    try { kept = new char[size]; kept[1] = char(i); sum += kept[1]; delete[] kept; } catch (...) { sum += cleaned; }
  }
  std::printf("%d %d %d\n", sum, cleaned, tries);
  return sum & 63;
}
