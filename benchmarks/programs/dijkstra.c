/* Shortest paths from every node of a dense random graph of 50 nodes. */
#include "kernel_clock.h"

#define N 50
static int cost[N][N], dist[N][N];

__attribute__((noinline)) static void all_sources(void) {
  for (int source = 0; source < N; source++) {
    int *d = dist[source];
    char seen[N] = {0};
    for (int i = 0; i < N; i++) d[i] = 1 << 29;
    d[source] = 0;
    for (int step = 0; step < N; step++) {
      int u = 0, best = 1 << 30;
      for (int i = 0; i < N; i++)
        if (!seen[i] && d[i] < best) {
          best = d[i];
          u = i;
        }
      seen[u] = 1;
      for (int v = 0; v < N; v++) {
        int through = best + cost[u][v];
        if (through < d[v]) d[v] = through;
      }
    }
  }
}

int main(int argc, char **argv) {
  unsigned state = 1;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      state = state * 1103515245u + 12345u;
      cost[i][j] = i == j ? 0 : 1 + (int)((state >> 16) % 100);
    }
  TIMED(argc > 1 ? atoi(argv[1]) : 5, all_sources());
  long sum = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) sum += dist[i][j];
  printf("%ld\n", sum);
  return 0;
}
