// An own `operator delete` and nothing else: the library's `delete[]` calls it.
#include <cstdlib>
#include <new>
static long freed;
static char *volatile kept;  // else clang may leave out what is allocated and freed again
void operator delete(void *memory) noexcept {
  freed += memory != nullptr;
  std::free(memory);
}
struct Node { long value; Node *next; };
int main(int count, char **) {
  long sum = 0;
  Node *list = nullptr;
  for (int i = 0; i < 12; i++) {
    char *text = new char[20 * count + i];
    kept = text;
    for (int k = 0; k < 20; k++) text[k] = char(k + i);
    sum += kept[i];
    delete[] text;
    list = new Node{sum, list};
  }
  while (list) {
    Node *next = list->next;
    sum += list->value;
    delete list;
    list = next;
  }
  return int(sum + freed) & 63;
}
