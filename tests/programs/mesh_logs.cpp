/* Edges in a vector, sweeps by algorithms of the library, a file that each step writes a line to, an error that is thrown.
   usage: mesh_logs side steps natural */
#include "edges.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <vector>

static double advance(const std::vector<Edge> &edges, std::vector<double> &u, std::vector<double> &r)
{
    std::fill(r.begin(), r.end(), 0.0);
    std::for_each(edges.begin(), edges.end(), [&](const Edge &e) {
        const double f = e.weight * (u[e.b] - u[e.a]);
        r[e.a] += f;
        r[e.b] -= f;
    });
    std::transform(u.begin(), u.end(), r.begin(), u.begin(), [](double old, double change) { return old + 0.05 * change; });
    const double norm = std::inner_product(r.begin(), r.end(), r.begin(), 0.0);
    if (!std::isfinite(norm))
        throw std::runtime_error("the solution has grown without limit");
    return norm;
}

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    const auto edges = make_edges(side, argc > 3 && std::atoi(argv[3]));
    std::vector<double> u(side * side), r(u.size());
    for (std::size_t i = 0; i < u.size(); i++)
        u[i] = argc > 4 && i == 7 ? 1e308 : 0.01 * (1 + i % 7);
    std::ofstream history("history.txt");
    std::ostringstream last;
    try {
        for (int t = 0; t < steps; t++) {
            const double norm = advance(edges, u, r);
            history << t << ' ' << norm << std::endl;
            last << "step " << t << "; ";
        }
    } catch (const std::exception &error) {
        std::cout << error.what() << '\n';
    }
    std::cout << std::accumulate(u.begin(), u.end(), 0.0) << ' ' << u[0] << ' ' << u[u.size() / 2] << '\n' << last.str();
    std::ifstream again("history.txt");
    for (std::string word; again >> word;)
        std::cout << word << ' ';
    return 0;
}
