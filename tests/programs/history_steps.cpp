/* Vectors that are swapped and summed up by their iterators, and a list of what each step came to.
   usage: history_steps side steps natural */
#include "edges.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 40, n = side * side;
    std::vector<int> start(n + 1), near;
    std::vector<std::vector<int>> rows(n);
    for (const Edge &edge : make_edges(side, argc > 3 && std::atoi(argv[3]))) {
        rows[edge.a].push_back(edge.b);
        rows[edge.b].push_back(edge.a);
    }
    for (int v = 0; v < n; v++) {
        near.insert(near.end(), rows[v].begin(), rows[v].end());
        start[v + 1] = static_cast<int>(near.size());
    }
    rows.clear();
    std::vector<double> x(n), y(n), history;
    for (int v = 0; v < n; v++)
        x[v] = v % 31;
    for (int t = 0; t < steps; t++) {
        for (int v = 0; v < n; v++) {
            double sum = 0;
            for (int k = start[v]; k < start[v + 1]; k++)
                sum += x[near[k]];
            y[v] = 0.4 * x[v] + 0.14 * sum;
        }
        std::swap(x, y);
        double norm = 0;
        for (double value : x)
            norm += value * value;
        history.push_back(std::sqrt(norm));
        if (t % 10 == 9)
            std::cerr << "step " << t << ", norm " << history.back() << std::endl;
    }
    double last = history.back();
    std::printf("history %zu %.10g %.10g\n", history.size(), last, history.front() + x[0]);
}
