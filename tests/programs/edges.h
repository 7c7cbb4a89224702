/* Edges of a grid of side x side vertices, numbered naturally or at random. */
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

struct Edge {
    int a, b;
    double weight;
};

static std::vector<Edge> make_edges(int side, bool natural)
{
    std::vector<int> name(side * side);
    std::iota(name.begin(), name.end(), 0);
    std::vector<Edge> edges;
    if (!natural)
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            if (x + 1 < side)
                edges.push_back({name[y * side + x], name[y * side + x + 1], 0.5 + 0.25 * (x & 1)});
            if (y + 1 < side)
                edges.push_back({name[y * side + x], name[y * side + x + side], 0.5});
        }
    if (!natural)
        std::shuffle(edges.begin(), edges.end(), std::mt19937(9));
    return edges;
}
