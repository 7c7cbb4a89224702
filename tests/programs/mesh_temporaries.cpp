/* Steps that make their vectors anew, by value, and an error that is thrown while they are there.
   usage: mesh_temporaries side steps natural [throw] */
#include "edges.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

using Field = std::vector<double>;

static Field rate(const std::vector<Edge> &edges, const Field &u)
{
    Field r(u.size());
    for (const Edge &e : edges) {
        const double f = e.weight * (u[e.b] - u[e.a]);
        r[e.a] += f;
        r[e.b] -= f;
    }
    return r;
}

static Field plus(const Field &u, double factor, const Field &r)
{
    Field sum(u);
    for (std::size_t v = 0; v < sum.size(); v++)
        sum[v] += factor * r[v];
    return sum;
}

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    const auto edges = make_edges(side, argc > 3 && std::atoi(argv[3]));
    Field u(side * side);
    for (std::size_t v = 0; v < u.size(); v++)
        u[v] = 0.01 * (1 + v % 7);
    try {
        for (int t = 0; t < steps; t++) {
            const Field first = rate(edges, u), half = plus(u, 0.05, first), second = rate(edges, half);
            for (std::size_t v = 0; v < u.size(); v++)
                u[v] += 0.05 * (first[v] + second[v]);
            if (argc > 4 && t == 7)
                throw std::runtime_error("stopped");
        }
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
    double sum = 0;
    for (std::size_t v = 0; v < u.size(); v++)
        sum += u[v] * (1 + v % 5);
    std::printf("%.12g\n", sum);
    return 0;
}
