/* Views with operator() and loops that take lambdas, as portability libraries have them.
   usage: views side steps natural */
#include <cstdio>
#include <cstdlib>
#include "edges.h"

template <typename T> class View {
    T *data;
    int rows, columns;

  public:
    View(std::vector<T> &owner, int columns) : data(owner.data()), rows(owner.size() / columns), columns(columns) {}
    T &operator()(int i, int k) const { return data[std::size_t(i) * columns + k]; }
    int extent() const { return rows; }
};

template <typename F> static void parallel_for(int n, F body)
{
    for (int i = 0; i < n; i++)
        body(i);
}

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    const std::vector<Edge> edges = make_edges(side, argc > 3 && std::atoi(argv[3]));
    std::vector<int> two(2 * edges.size());
    std::vector<double> one(edges.size()), density(3 * side * side), change(3 * side * side);
    View<int> ends(two, 2);
    View<double> weight(one, 1), u(density, 3), r(change, 3);
    for (int e = 0; e < ends.extent(); e++) {
        ends(e, 0) = edges[e].a;
        ends(e, 1) = edges[e].b;
        weight(e, 0) = edges[e].weight;
    }
    for (int i = 0; i < u.extent(); i++)
        for (int k = 0; k < 3; k++)
            u(i, k) = 0.01 * ((i + k) % 7);
    for (int t = 0; t < steps; t++) {
        parallel_for(ends.extent(), [=](int e) {
            for (int k = 0; k < 3; k++) {
                double f = weight(e, 0) * (u(ends(e, 1), k) - u(ends(e, 0), k));
                r(ends(e, 0), k) += f;
                r(ends(e, 1), k) -= f;
            }
        });
        parallel_for(u.extent(), [=](int i) {
            for (int k = 0; k < 3; k++) {
                u(i, k) += 0.05 * r(i, k);
                r(i, k) = 0;
            }
        });
    }
    double sum = 0;
    for (int i = 0; i < u.extent(); i++)
        sum += u(i, 0) * (1 + i % 5) - u(i, 2);
    std::printf("%.12g\n", sum);
}
