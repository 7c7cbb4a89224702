/* Gathers by std::transform and std::accumulate; nothing in the program is written as an index loop but the scatter.
   usage: gathers_transform side steps natural */
#include <cstdio>
#include <cstdlib>
#include "edges.h"

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    const std::vector<Edge> edges = make_edges(side, argc > 3 && std::atoi(argv[3]));
    std::vector<double> u(side * side), r(side * side), flux(edges.size());
    for (std::size_t i = 0; i < u.size(); i++)
        u[i] = 0.01 * (i % 7);
    double energy = 0;
    for (int t = 0; t < steps; t++) {
        std::transform(edges.begin(), edges.end(), flux.begin(),
                       [&](const Edge &e) { return e.weight * (u[e.b] - u[e.a]); });
        std::fill(r.begin(), r.end(), 0.0);
        for (std::size_t e = 0; e < edges.size(); e++) {
            r[edges[e].a] += flux[e];
            r[edges[e].b] -= flux[e];
        }
        std::transform(u.begin(), u.end(), r.begin(), u.begin(), [](double x, double d) { return x + 0.05 * d; });
        energy = std::accumulate(edges.begin(), edges.end(), 0.0,
                                 [&](double s, const Edge &e) { return s + (u[e.a] - u[e.b]) * (u[e.a] - u[e.b]); });
    }
    std::printf("%.9e %.9e\n", energy, std::accumulate(u.begin(), u.end(), 0.0));
}
