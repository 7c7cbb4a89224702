// Edges sorted by colour in a vector, and a vector of where each colour begins: a loop over colours, one over edges.
// usage: mesh_colour_vectors side steps natural
#include <cstdio>
#include <cstdlib>
#include "edges.h"
struct Mesh { std::vector<Edge> edges; std::vector<int> start; };
static void flux(const Mesh &m, const std::vector<double> &u, std::vector<double> &r)
{
    for (size_t c = 0; c + 1 < m.start.size(); c++)
        for (int e = m.start[c]; e < m.start[c + 1]; e++) {
            const Edge &x = m.edges[e];
            double f = x.weight * (u[x.b] - u[x.a]);
            r[x.a] += f;
            r[x.b] -= f;
        }
}
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Mesh m;
    std::vector<Edge> all = make_edges(side, argc > 3 && atoi(argv[3]));
    std::vector<unsigned> used(side * side);
    std::vector<std::vector<Edge>> by(32);
    for (const Edge &e : all) {
        int c = __builtin_ctz(~(used[e.a] | used[e.b]));
        used[e.a] |= 1u << c, used[e.b] |= 1u << c;
        by[c].push_back(e);
    }
    m.start.push_back(0);
    for (auto &one : by) if (!one.empty()) {
        m.edges.insert(m.edges.end(), one.begin(), one.end());
        m.start.push_back(m.edges.size());
    }
    std::vector<double> u(side * side), r(side * side);
    for (size_t i = 0; i < u.size(); i++) u[i] = 0.01 * (i % 7);
    for (int t = 0; t < steps; t++) {
        for (auto &x : r) x = 0;
        flux(m, u, r);
        for (size_t i = 0; i < u.size(); i++) u[i] += 0.05 * r[i];
    }
    double sum = 0;
    for (double x : u) sum += x;
    std::printf("%.9e %.9e\n", sum, u[side]);
}
