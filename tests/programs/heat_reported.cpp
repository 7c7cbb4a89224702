/* Heat over edges, whose update throws where a temperature is out of its bounds: the step is repaired and the next one
   is shorter. Every ten steps are told on standard output, and the end is written to a file.
   usage: heat_reported side steps natural [step at which two vertices are heated] */
#include "edges.h"
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

struct TooHot : std::runtime_error {
    using std::runtime_error::runtime_error;
};

static void update(std::vector<double> &u, const std::vector<double> &r, double dt)
{
    for (std::size_t v = 0; v < u.size(); v++) {
        u[v] += dt * r[v];
        if (!std::isfinite(u[v]) || u[v] > 1e3)
            throw TooHot("vertex " + std::to_string(v));
    }
}

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20, n = side * side;
    const int heated = argc > 4 ? std::atoi(argv[4]) : -1;
    const std::vector<Edge> edges = make_edges(side, argc > 3 && std::atoi(argv[3]));
    std::vector<double> u(n), r(n);
    for (int v = 0; v < n; v++)
        u[v] = v % 83;
    double dt = 0.1;
    for (int t = 0; t < steps; t++) {
        std::fill(r.begin(), r.end(), 0.0);
        for (const Edge &e : edges) {
            const double flux = e.weight * (u[e.b] - u[e.a]);
            r[e.a] += flux;
            r[e.b] -= flux;
        }
        if (t == heated)
            r[n / 2] = r[n / 3] = 1e9;
        try {
            update(u, r, dt);
        } catch (const TooHot &error) {
            std::cout << "step " << t << ": " << error.what() << std::endl;
            for (double &one : u)
                one = one > 1e3 ? 0 : one;
            dt *= 0.5;
        }
        if (t % 10 == 9)
            std::cout << t << " " << std::accumulate(u.begin(), u.end(), 0.0) / n << std::endl;
    }
    std::ofstream file("heat.txt");
    for (int v = 0; v < n; v += 1 + n / 7)
        file << u[v] << '\n';
    std::cout << u[0] + u[n - 1] << std::endl;
    return 0;
}
