// A mesh whose vectors are all read and written by at(), which throws where there is no such element.
// usage: mesh_checked side steps natural
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "edges.h"

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    const auto edges = make_edges(side, argc > 3 && atoi(argv[3]));
    std::size_t n = std::size_t(side) * side;
    std::vector<double> u(n), r(n);
    for (std::size_t i = 0; i < n; i++)
        u.at(i) = i % 7;
    try {
        for (int t = 0; t < steps; t++) {
            for (std::size_t e = 0; e < edges.size(); e++) {
                const Edge &edge = edges.at(e);
                assert(edge.a != edge.b);
                double flow = edge.weight * (u.at(edge.a) - u.at(edge.b));
                r.at(edge.a) -= flow;
                r.at(edge.b) += flow;
            }
            for (std::size_t i = 0; i < n; i++) {
                u.at(i) += 0.1 * r.at(i);
                r.at(i) = 0;
            }
        }
    } catch (const std::out_of_range &error) {
        printf("%s\n", error.what());
        return 1;
    }
    double sum = 0;
    for (std::size_t i = 0; i < n; i++)
        sum += u[i] * (1 + i % 5);
    printf("%.9g\n", sum);
    return 0;
}
