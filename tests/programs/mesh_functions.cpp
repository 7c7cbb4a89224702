/* A solver in a variable of main: a flux for each edge and a report for each step, both std::function; the flux is
   another one later on. usage: mesh_functions side steps natural [swap|foreign] */
#include "edges.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

class Solver {
public:
    Solver(std::vector<Edge> edges, int vertices, std::function<double(double, double)> flux)
        : edges_(std::move(edges)), u_(vertices), r_(vertices), flux_(std::move(flux))
    {
        for (int v = 0; v < vertices; v++)
            u_[v] = 0.01 * (1 + v % 7);
    }
    std::function<void(int, const std::vector<double> &)> report;
    std::function<double(double, double)> later;
    void run(int steps, int swapped)
    {
        for (int t = 0; t < steps; t++) {
            if (t == swapped)
                flux_ = later;
            std::fill(r_.begin(), r_.end(), 0.0);
            for (const Edge &e : edges_) {
                const double f = e.weight * flux_(u_[e.a], u_[e.b]);
                r_[e.a] += f;
                r_[e.b] -= f;
            }
            for (std::size_t v = 0; v < u_.size(); v++)
                u_[v] += 0.05 * r_[v];
            if (report)
                report(t, u_);
        }
    }
    const std::vector<double> &u() const { return u_; }

private:
    std::vector<Edge> edges_;
    std::vector<double> u_, r_;
    std::function<double(double, double)> flux_;
};

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    const bool swap = argc > 4 && !std::strcmp(argv[4], "swap"), foreign = argc > 4 && !std::strcmp(argv[4], "foreign");
    Solver solver(make_edges(side, argc > 3 && std::atoi(argv[3])), side * side,
                  [](double a, double b) { return (b - a) / (1 + std::fabs(b - a)); });
    solver.later = [](double a, double b) { return b - a; };
    if (foreign)
        solver.later = reinterpret_cast<double (*)(double, double)>(dlsym(RTLD_DEFAULT, "fdim"));
    solver.report = [steps](int t, const std::vector<double> &u) {
        if (t + 1 == steps)
            std::printf("%d %.12g\n", t, u[u.size() / 2]);
    };
    solver.run(steps, swap || foreign ? 7 : -1);
    double sum = 0;
    for (std::size_t v = 0; v < solver.u().size(); v++)
        sum += solver.u()[v] * (1 + v % 5);
    std::printf("%.12g\n", sum);
    return 0;
}
