/* Heat in cells that hold more of it the hotter they are: what a cell gains over its faces, and the temperature that it
   then has, by Newton's method. usage: cells_heated side steps natural */
#include "mesh.h"

typedef struct {
    double heat, temperature, gained;
    int tries;
} Cell;

static double held(double temperature) { return temperature + 0.3 * temperature * temperature * temperature; }

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    Mesh m = make_mesh(side, natural);
    Cell *cells = malloc((size_t)m.vertices * sizeof *cells);
    double *temperatures = filled(m.vertices, 0.3);
    for (int v = 0; v < m.vertices; v++)
        cells[v] = (Cell){held(temperatures[v]), temperatures[v], 0, 0};
    for (int t = 0; t < steps; t++) {
        for (int e = 0; e < m.edges; e++) {
            Cell *a = &cells[m.a[e]], *b = &cells[m.b[e]];
            double flow = 0.1 * m.weight[e] * (a->temperature - b->temperature);
            a->gained -= flow;
            b->gained += flow;
        }
        for (int v = 0; v < m.vertices; v++) {
            Cell *c = &cells[v];
            double change;
            c->heat += c->gained;
            c->gained = 0;
            do {
                change = (held(c->temperature) - c->heat) / (1 + 0.9 * c->temperature * c->temperature);
                c->temperature -= change;
                c->tries++;
            } while (fabs(change) > 1e-12);
        }
    }
    long tries = 0;
    for (int v = 0; v < m.vertices; v++) {
        temperatures[v] = cells[v].temperature;
        tries += cells[v].tries;
    }
    tell("temperature", temperatures, m.vertices);
    printf("%.0f tries\n", (double)tries / m.vertices / steps);
    return 0;
}
