/* Rows as vectors of a vector: a loop of its own asks how long they are, another one adds them up.
   usage: pagerank_vectors side steps natural */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

using Rows = std::vector<std::vector<int>>;

static Rows rows_of(int side, bool natural)
{
    int n = side * side;
    std::vector<int> name(n);
    std::iota(name.begin(), name.end(), 0);
    std::mt19937 draw(7);
    for (int v = n - 1; v > 0 && !natural; v--)
        std::swap(name[v], name[draw() % (v + 1)]);
    Rows rows(n);
    for (int v = 0; v < n; v++)
        for (int to : {v + 1, v + side, v + v % 5 + 2})
            if (v % 17)
                rows[name[v]].push_back(name[to % n]);
    return rows;
}

int main(int argc, char **argv)
{
    Rows rows = rows_of(argc > 1 ? std::atoi(argv[1]) : 30, argc > 3 && std::atoi(argv[3]));
    int steps = argc > 2 ? std::atoi(argv[2]) : 20;
    std::size_t n = rows.size();
    std::vector<double> rank(n, 1.0 / n), next(n), share(n);
    for (int t = 0; t < steps; t++) {
        for (std::size_t v = 0; v < n; v++)
            share[v] = rows[v].empty() ? 0 : rank[v] / rows[v].size();
        double error = 0;
        for (std::size_t v = 0; v < n; v++) {
            double sum = 0;
            for (int to : rows[v])
                sum += share[to];
            next[v] = 0.15 / n + 0.85 * sum;
            error += std::fabs(next[v] - rank[v]);
        }
        rank.swap(next);
        if (t % 10 == 0)
            std::printf("%d %.9e\n", t, error);
    }
    std::printf("sum %.9e\n", std::accumulate(rank.begin(), rank.end(), 0.0));
}
