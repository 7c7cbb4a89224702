/* A step takes the state of a shallow lake and returns the next one; a solver keeps the potential, which it replaces.
   usage: steps_returned side steps natural */
#include "edges.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

struct Links {
    std::vector<int> start, near;
};

struct State {
    std::vector<double> height, speed;
};

static State advanced(const Links &links, const State &now)
{
    std::size_t n = now.height.size();
    State next;
    next.height.resize(n);
    next.speed.resize(n);
    for (std::size_t v = 0; v < n; ++v) {
        double heights = 0, speeds = 0;
        for (int k = links.start[v]; k < links.start[v + 1]; ++k) {
            heights += now.height[links.near[k]];
            speeds += now.speed[links.near[k]];
        }
        int degree = links.start[v + 1] - links.start[v];
        next.height[v] = now.height[v] + 0.01 * (speeds - degree * now.speed[v]);
        next.speed[v] = 0.995 * now.speed[v] + 0.02 * (heights - degree * now.height[v]);
    }
    return next;
}

class Potential {
  public:
    explicit Potential(std::size_t n) : values_(n, 1.0) {}

    void relax(const Links &links, const std::vector<double> &source)
    {
        std::vector<double> next(values_.size());
        for (std::size_t v = 0; v < values_.size(); ++v) {
            double sum = 0;
            for (int k = links.start[v]; k < links.start[v + 1]; ++k)
                sum += values_[links.near[k]];
            next[v] = 0.12 * (sum + 0.001 * source[v]);
        }
        values_.swap(next);
    }

    double norm() const
    {
        double sum = 0;
        for (double value : values_)
            sum += value * value;
        return std::sqrt(sum);
    }

  private:
    std::vector<double> values_;
};

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 40, n = side * side;
    std::vector<std::vector<int>> rows(n);
    for (const Edge &edge : make_edges(side, argc > 3 && std::atoi(argv[3]))) {
        rows[edge.a].push_back(edge.b);
        rows[edge.b].push_back(edge.a);
    }
    Links links;
    links.start.push_back(0);
    for (const auto &row : rows) {
        links.near.insert(links.near.end(), row.begin(), row.end());
        links.start.push_back(static_cast<int>(links.near.size()));
    }
    rows.clear();
    State state{std::vector<double>(n), std::vector<double>(n)};
    for (int v = 0; v < n; ++v)
        state.height[v] = 1 + v % 7;
    Potential potential(n);
    for (int t = 0; t < steps; ++t) {
        state = advanced(links, state);
        potential.relax(links, state.height);
    }
    double sum = 0, speed = 0;
    for (double value : state.height)
        sum += value;
    for (double value : state.speed)
        speed += value * value;
    std::printf("lake %.10g %.10g %.10g\n", sum, speed, potential.norm());
}
