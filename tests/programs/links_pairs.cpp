/* Heat between neighbours in lists of pairs (to, weight), each of which is copied out of its list.
   usage: links_pairs side steps natural */
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "edges.h"

using Links = std::vector<std::vector<std::pair<int, int>>>;

static Links make_links(int side, bool natural)
{
    Links links(side * side);
    for (const Edge &e : make_edges(side, natural)) {
        int weight = 1 + (e.weight > 0.6);
        links[e.a].emplace_back(e.b, weight);
        links[e.b].emplace_back(e.a, weight);
    }
    return links;
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    const Links links = make_links(side, argc > 3 && atoi(argv[3]));
    std::vector<double> u(links.size(), 1.0), next(links.size());
    for (int v = 0; v < side; v++)
        u[v] = v;
    for (int t = 0; t < steps; t++) {
        for (std::size_t v = 0; v < links.size(); v++) {
            double sum = 0, total = 0;
            for (auto [to, weight] : links[v]) {
                sum += weight * u[to];
                total += weight;
            }
            next[v] = 0.5 * u[v] + 0.5 * sum / total;
        }
        std::swap(u, next);
    }
    printf("%.9g %.9g\n", u[0], std::accumulate(u.begin(), u.end(), 0.0));
    return 0;
}
