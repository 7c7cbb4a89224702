/* Each step allocates what it computes, frees what it started from, and hands the new values on in a structure.
   usage: steps_freed side steps natural every (now and then the values move to a larger block) */
#include "mesh.h"

typedef struct {
    int vertices;
    double *values, *rates;
} State;

static void advance(const Mesh *m, State *s)
{
    double *sum = calloc((size_t)s->vertices, sizeof *sum), *next = malloc((size_t)s->vertices * sizeof *next);
    if (sum == NULL || next == NULL) {
        perror("steps_freed");
        exit(1);
    }
    for (int e = 0; e < m->edges; e++) {
        double flux = m->weight[e] * (s->values[m->a[e]] - s->values[m->b[e]]);
        sum[m->a[e]] -= flux;
        sum[m->b[e]] += flux;
    }
    for (int v = 0; v < s->vertices; v++)
        next[v] = s->values[v] + 0.05 * sum[v] + 0.01 * s->rates[v];
    free(s->values);
    free(s->rates);
    s->values = next;
    s->rates = sum;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 40;
    int natural = argc > 3 && atoi(argv[3]), every = argc > 4 ? atoi(argv[4]) : 0;
    Mesh m = make_mesh(side, natural);
    State s = {m.vertices, filled(m.vertices, 1), filled(m.vertices, 0.25)};
    for (int t = 0; t < steps; t++) {
        advance(&m, &s);
        if (every && t % every == every - 1) {
            double *larger = malloc((size_t)(s.vertices + 64 * t) * sizeof *larger);
            memcpy(larger, s.values, (size_t)s.vertices * sizeof *larger);
            free(s.values);
            s.values = larger;
        }
    }
    double sum = 0, rate = 0;
    for (int v = 0; v < s.vertices; v++) {
        sum += s.values[v] * (v % 5);
        rate += s.rates[v] * s.rates[v];
    }
    printf("%.10g %.10g\n", sum, rate);
    free(s.values);
    free(s.rates);
    return 0;
}
