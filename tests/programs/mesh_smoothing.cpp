/* Points that move to the middle of their neighbours, which lie in vectors of vectors; two vectors of points change places.
   usage: mesh_smoothing side steps natural */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

using Point = std::array<double, 2>;
using Rows = std::vector<std::vector<int>>;

static Rows make_rows(int side, bool natural)
{
    std::vector<int> name(side * side);
    std::iota(name.begin(), name.end(), 0);
    if (!natural)
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
    Rows rows(side * side);
    for (int y = 1; y + 1 < side; y++)
        for (int x = 1; x + 1 < side; x++)
            for (int step : {1, -1, side, -side})
                rows[name[y * side + x]].push_back(name[y * side + x + step]);
    return rows;
}

static void smooth(const Rows &rows, const std::vector<Point> &in, std::vector<Point> &out)
{
    for (std::size_t v = 0; v < in.size(); v++) {
        out[v] = in[v];
        if (rows[v].empty())
            continue;
        Point middle{0, 0};
        for (int u : rows[v]) {
            middle[0] += in[u][0];
            middle[1] += in[u][1];
        }
        for (int k = 0; k < 2; k++)
            out[v][k] += 0.5 * (middle[k] / rows[v].size() - in[v][k]);
    }
}

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    const Rows rows = make_rows(side, argc > 3 && std::atoi(argv[3]));
    std::vector<Point> points(rows.size()), next(rows.size());
    for (std::size_t v = 0; v < points.size(); v++)
        points[v] = {0.01 * (v % 17), 0.02 * (v % 13)};
    for (int t = 0; t < steps; t++) {
        smooth(rows, points, next);
        points.swap(next);
    }
    double sum = 0;
    for (std::size_t v = 0; v < points.size(); v++)
        sum += points[v][0] * (1 + v % 5) - points[v][1];
    std::printf("%.12g\n", sum);
    return 0;
}
