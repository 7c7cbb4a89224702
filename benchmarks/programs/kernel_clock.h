/* Times a kernel inside of the program and prints nanoseconds: the first call, the best, and the mean of all. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

#define TIMED(repeats, ...)                                                                                            \
  do {                                                                                                                 \
    double best = 1e300, total = 0, first = 0;                                                                         \
    int calls = (repeats);                                                                                             \
    for (int call = 0; call < calls; call++) {                                                                         \
      double kernel_start = now();                                                                                     \
      __VA_ARGS__;                                                                                                     \
      double took = now() - kernel_start;                                                                              \
      if (took < best) best = took;                                                                                    \
      if (call == 0) first = took;                                                                                     \
      total += took;                                                                                                   \
    }                                                                                                                  \
    fprintf(stderr, "kernel %.0f %.0f %.0f ns\n", first, best, total / calls);                                         \
  } while (0)
