/* A layer of a graph network: eight features of a node are the mean of its neighbours', mixed by a small matrix.
   usage: features_mean side steps natural */
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include "edges.h"

constexpr int WIDTH = 8;

struct Layer {
    std::array<std::array<float, WIDTH>, WIDTH> weight;
    void forward(const std::vector<int64_t> &first, const std::vector<int64_t> &other, const std::vector<float> &in,
                 std::vector<float> &out) const
    {
        const auto n = static_cast<int64_t>(first.size()) - 1;
        for (int64_t v = 0; v < n; v++) {
            float mean[WIDTH] = {};
            for (int64_t e = first[v]; e < first[v + 1]; e++)
                for (int f = 0; f < WIDTH; f++)
                    mean[f] += in[other[e] * WIDTH + f];
            const float scale = 1.0f / (first[v + 1] - first[v]);
            for (int f = 0; f < WIDTH; f++) {
                float sum = in[v * WIDTH + f];
                for (int g = 0; g < WIDTH; g++)
                    sum += weight[f][g] * mean[g] * scale;
                out[v * WIDTH + f] = sum > 0 ? sum : 0.01f * sum;
            }
        }
    }
};

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20, n = side * side;
    const std::vector<Edge> edges = make_edges(side, argc > 3 && std::atoi(argv[3]));
    std::vector<int64_t> first(n + 1), other(2 * edges.size());
    for (const Edge &e : edges)
        first[e.a + 1]++, first[e.b + 1]++;
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<int64_t> at(first.begin(), first.end() - 1);
    for (const Edge &e : edges)
        other[at[e.a]++] = e.b, other[at[e.b]++] = e.a;
    Layer layer;
    for (int f = 0; f < WIDTH; f++)
        for (int g = 0; g < WIDTH; g++)
            layer.weight[f][g] = 0.01f * ((f * 3 + g) % 5 - 2);
    std::vector<float> in(n * WIDTH), out(n * WIDTH);
    for (std::size_t i = 0; i < in.size(); i++)
        in[i] = 0.01f * (i % 23);
    for (int t = 0; t < steps; t++) {
        layer.forward(first, other, in, out);
        std::swap(in, out);
    }
    std::printf("%.5e\n", std::accumulate(in.begin(), in.end(), 0.0));
}
