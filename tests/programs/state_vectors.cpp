/* States of the nodes of a graph as vectors of a vector, which a step reads and writes along a list of links.
   usage: state_vectors side steps natural */
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

constexpr int FIELDS = 4;

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20, n = side * side;
    std::vector<int> name(n), when(n);
    std::iota(name.begin(), name.end(), 0);
    std::iota(when.begin(), when.end(), 0);
    std::mt19937 draw(7);
    std::vector<std::pair<int, int>> links;
    if (argc <= 3 || !std::atoi(argv[3]))
        for (auto *numbers : {&name, &when})
            for (int v = n - 1; v > 0; v--)
                std::swap((*numbers)[v], (*numbers)[draw() % (v + 1)]);
    for (int v = 0; v < n; v++)
        for (int to : {v + 1, v + side})
            if (to < n)
                links.emplace_back(name[v], name[to]);
    std::vector<std::vector<double>> state(n), flow(n);
    for (int v : when) {
        state[v].assign(FIELDS, 0.01 * (v % 7));
        flow[v].assign(FIELDS, 0.0);
    }
    for (int t = 0; t < steps; t++) {
        for (const auto &[a, b] : links)
            for (int k = 0; k < FIELDS; k++) {
                double moved = 0.1 * (state[a][k] - state[b][k]) + 0.001 * k;
                flow[a][k] -= moved;
                flow[b][k] += moved;
            }
        for (int v = 0; v < n; v++)
            for (int k = 0; k < FIELDS; k++) {
                state[v][k] += flow[v][k];
                flow[v][k] = 0;
            }
    }
    double sum[FIELDS] = {};
    for (auto &row : state)
        for (int k = 0; k < FIELDS; k++)
            sum[k] += row[k] * (1 + k);
    std::printf("%.9e %.9e %.9e %.9e\n", sum[0], sum[1], sum[2], sum[3]);
}
