/* Vectors in an object, two of which are swapped after each step; each step tells its error with std::endl.
   usage: pagerank_prints side steps natural */
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

struct Graph {
    bool directed; // which no step looks at: only addresses of members are handed to the loops
    std::size_t vertices;
    std::vector<std::size_t> first;
    std::vector<int> from, degree;
};

static Graph make_graph(int side, bool natural)
{
    int n = side * side;
    std::vector<int> name(n);
    std::iota(name.begin(), name.end(), 0);
    if (!natural)
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
    std::vector<std::vector<int>> links(n);
    for (int v = 0; v < n; v++)
        for (int to : {v + 1, v + side, v + v % 5 + 2})
            links[name[to % n]].push_back(name[v]);
    Graph g{false, std::size_t(n), {0}, {}, std::vector<int>(n, 0)};
    for (auto &row : links) {
        for (int v : row)
            g.from.push_back(v), g.degree[v]++;
        g.first.push_back(g.from.size());
    }
    return g;
}

int main(int argc, char **argv)
{
    Graph g = make_graph(argc > 1 ? std::atoi(argv[1]) : 30, argc > 3 && std::atoi(argv[3]));
    int steps = argc > 2 ? std::atoi(argv[2]) : 20;
    std::vector<double> rank(g.vertices), next(g.vertices), share(g.vertices);
    for (std::size_t v = 0; v < g.vertices; v++)
        rank[v] = (1.0 + v % 10) / (5.5 * g.vertices);
    for (int t = 0; t < steps; t++) {
        for (std::size_t v = 0; v < g.vertices; v++)
            share[v] = rank[v] / g.degree[v];
        double error = 0;
        for (std::size_t v = 0; v < g.vertices; v++) {
            double sum = 0;
            for (std::size_t e = g.first[v]; e < g.first[v + 1]; e++)
                sum += share[g.from[e]];
            next[v] = 0.15 / g.vertices + 0.85 * sum;
            error += std::fabs(next[v] - rank[v]);
        }
        std::swap(rank, next);
        std::cout << "step " << t << " error " << error << std::endl;
    }
    std::cout << "sum " << std::accumulate(rank.begin(), rank.end(), 0.0) << "\n";
}
