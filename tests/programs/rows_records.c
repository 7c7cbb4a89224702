/* Records with pointers to the begin and the end of each row, which are of different sizes and some empty.
   usage: rows_records side steps natural */
#include "rows.h"

typedef struct {
    int *begin, *end, *room;
} List;

static void append(List *list, int number)
{
    if (list->end == list->room) {
        size_t many = (size_t)(list->end - list->begin);
        list->begin = realloc(list->begin, (2 * many + 1) * sizeof *list->begin);
        list->end = list->begin + many;
        list->room = list->end + many + 1;
    }
    *list->end++ = number;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m = make_mesh(side, argc > 3 && atoi(argv[3]));
    List *near = calloc((size_t)m.vertices, sizeof *near);
    for (int e = 0; e < m.edges; e++)
        if (m.a[e] % 11) {
            append(&near[m.a[e]], m.b[e]);
            if (m.b[e] % 5)
                append(&near[m.b[e]], m.a[e]);
        }
    double *u = filled(m.vertices, 0.01), *w = filled(m.vertices, 0);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < m.vertices; i++) {
            double sum = 0;
            for (const int *at = near[i].begin; at < near[i].end; at++)
                sum += u[*at];
            w[i] = sum;
        }
        for (int i = 0; i < m.vertices; i++)
            u[i] = 0.6 * u[i] + 0.1 * w[i];
    }
    tell("u", u, m.vertices);
    return 0;
}
