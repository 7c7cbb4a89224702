/* Rows of a mesh that are read by at(), with two vectors that change places.
   usage: rows_checked side steps natural step (in which one column has become wrong, which at() says) */
#include "edges.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

struct Rows {
    std::vector<int> start, column;
    std::vector<double> weight;
};

static void sweep(const Rows &rows, const std::vector<double> &from, std::vector<double> &to)
{
    for (std::size_t v = 0; v < to.size(); ++v) {
        double sum = 0;
        for (int k = rows.start.at(v); k < rows.start.at(v + 1); ++k)
            sum += rows.weight.at(k) * from.at(rows.column.at(k));
        to.at(v) = 0.5 * from.at(v) + 0.12 * sum;
    }
}

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20, n = side * side;
    int wrong = argc > 4 ? std::atoi(argv[4]) : -1;
    std::vector<std::vector<Edge>> near(n);
    for (const Edge &edge : make_edges(side, argc > 3 && std::atoi(argv[3]))) {
        near.at(edge.a).push_back(edge);
        near.at(edge.b).push_back({edge.b, edge.a, edge.weight});
    }
    Rows rows;
    rows.start.push_back(0);
    for (const auto &row : near) {
        for (const Edge &edge : row) {
            rows.column.push_back(edge.b);
            rows.weight.push_back(edge.weight);
        }
        rows.start.push_back(static_cast<int>(rows.column.size()));
    }
    near.clear();
    std::vector<double> x(n), y(n);
    for (int v = 0; v < n; ++v)
        x.at(v) = v % 11;
    int done = 0;
    try {
        for (; done < steps; ++done) {
            if (done == wrong)
                rows.column.at(rows.column.size() / 2) = n;
            sweep(rows, x, y);
            std::swap(x, y);
        }
    } catch (const std::out_of_range &error) {
        std::printf("step %d: %s\n", done, error.what());
    }
    double sum = 0;
    for (double value : x)
        sum += value * value;
    std::printf("rows %d %.10g\n", done, sum);
}
