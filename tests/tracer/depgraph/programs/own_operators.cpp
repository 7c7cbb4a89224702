// An own `operator new` and `operator delete` over a list of free blocks; `new[]` and `delete[]` are the library's.
#include <cstddef>
#include <new>
struct Block { Block *next; long room[15]; };
static Block blocks[8], *vacant;
static int used;
void *operator new(std::size_t) {
  Block *found = vacant;
  if (found) vacant = found->next;
  else found = &blocks[used++];
  return found;
}
void operator delete(void *memory) noexcept {
  if (!memory) return;
  Block *block = static_cast<Block *>(memory);
  block->next = vacant;
  vacant = block;
}
static long *volatile kept;  // else clang may leave out what is allocated and freed again
int main(int count, char **) {
  long sum = 0;
  for (int i = 1; i < 20; i++) {
    long *several = new long[i % 8 + count], *one = new long(i);
    kept = several;
    several[i % 8] = sum + *one;
    sum += kept[i % 8] & 7;
    kept = one;
    if (i % 3) delete one;
    delete[] several;
    if (i % 3 == 0) delete kept;
  }
  return int(sum + used) & 63;
}
