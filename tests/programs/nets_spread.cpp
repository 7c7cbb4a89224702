/* Cells on a chip: each net measures its bounding box and pulls the cells at its ends together.
   usage: nets_spread side steps natural */
#include <cstdio>
#include <cstdlib>
#include "edges.h"

struct Net {
    std::vector<std::size_t> first{0};
    std::vector<unsigned> pin;
};

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20, n = side * side;
    const bool natural = argc > 3 && std::atoi(argv[3]);
    std::vector<int> name(n), turn(n);
    std::iota(name.begin(), name.end(), 0);
    std::iota(turn.begin(), turn.end(), 0);
    if (!natural) {
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
        std::shuffle(turn.begin(), turn.end(), std::mt19937(9));
    }
    Net nets;
    for (int at : turn) {
        for (int step : {0, 1, side, side + 1, 2})
            nets.pin.push_back(name[(at + step) % n]);
        nets.first.push_back(nets.pin.size());
    }
    std::vector<float> x(n), pull(n);
    for (int i = 0; i < n; i++)
        x[i] = 0.01f * (i % 101);
    double length = 0;
    for (int t = 0; t < steps; t++) {
        length = 0;
        for (std::size_t e = 0; e + 1 < nets.first.size(); e++) {
            float low = 1e30f, high = -1e30f;
            for (std::size_t k = nets.first[e]; k < nets.first[e + 1]; k++) {
                low = std::min(low, x[nets.pin[k]]);
                high = std::max(high, x[nets.pin[k]]);
            }
            length += high - low;
            for (std::size_t k = nets.first[e]; k < nets.first[e + 1]; k++)
                pull[nets.pin[k]] += 0.5f * (low + high) - x[nets.pin[k]];
        }
        for (int i = 0; i < n; i++) {
            x[i] += 0.01f * pull[i];
            pull[i] = 0;
        }
    }
    std::printf("%.6e %.5e\n", length, std::accumulate(x.begin(), x.end(), 0.0));
}
