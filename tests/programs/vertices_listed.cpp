/* Vertices lie in a vector, and each holds a list of pointers to those that it is linked to: heat flows along the links.
   usage: vertices_listed side steps natural */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

struct Vertex {
    double heat = 0, next = 0;
    std::vector<Vertex *> linked;
};

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    bool natural = argc > 3 && std::atoi(argv[3]);
    std::vector<int> name(side * side);
    std::iota(name.begin(), name.end(), 0);
    if (!natural)
        std::shuffle(name.begin(), name.end(), std::mt19937(3));
    std::vector<Vertex> vertices(name.size());
    auto link = [&](int a, int b) {
        vertices[name[a]].linked.push_back(&vertices[name[b]]);
        vertices[name[b]].linked.push_back(&vertices[name[a]]);
    };
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            vertices[name[y * side + x]].heat = (x * 13 + y * 7) % 50;
            if (x + 1 < side)
                link(y * side + x, y * side + x + 1);
            if (y + 1 < side)
                link(y * side + x, (y + 1) * side + x);
            if (x + 1 < side && y + 1 < side && (x + y) % 3)
                link(y * side + x, (y + 1) * side + x + 1);
        }
    for (int t = 0; t < steps; t++) {
        for (Vertex &vertex : vertices) {
            double flow = 0;
            for (const Vertex *other : vertex.linked)
                flow += other->heat - vertex.heat;
            vertex.next = vertex.heat + 0.1 * flow;
        }
        for (Vertex &vertex : vertices)
            vertex.heat = vertex.next;
    }
    double sum = 0;
    for (int k = 0; k < side * side; k++)
        sum += vertices[name[k]].heat * (1 + k % 5);
    std::printf("%.9g\n", sum);
    return 0;
}
