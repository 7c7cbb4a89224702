// Exceptions: through frames that clean up, caught by a base and by reference, passed on, of types that nobody catches first.
#include <cstdio>
static volatile int zero;
struct Error { int code; long more; Error(int c) : code(c), more(c * 2) {} Error(const Error &o) : code(o.code + 1), more(o.more) {} virtual ~Error() { code = -1; } virtual int value() const { return code; } };
struct Worse : Error { int extra; Worse(int c) : Error(c), extra(c) {} int value() const override { return code + extra; } };
struct Guard { int *count; explicit Guard(int *c) : count(c) {} ~Guard() { ++*count; } };
__attribute__((noinline)) static int deep(int n, int *cleaned) {
  Guard g(cleaned);
  if (n == 0) throw Worse(7 + zero);
  return 1 + deep(n - 1, cleaned);
}
__attribute__((noinline)) static int once(int n) { if (n & 1) throw n; return n; }
__attribute__((noinline)) static int again(int n) {
  try { return once(n); } catch (int &x) { x += 3; throw; }
}
int main() {
  int cleaned = 0, sum = 0;
  try { sum += deep(3, &cleaned); } catch (const Error &e) { sum += e.value() + (int)e.more; }
  for (int i = 0; i < 4; i++) {
    try { sum += again(i + zero); } catch (int x) { sum += 10 * x; }
  }
  try { throw 5L + zero; } catch (int) { sum += 1; } catch (...) { sum += 2; }
  std::printf("%d %d\n", sum, cleaned);
  return sum & 63;
}
