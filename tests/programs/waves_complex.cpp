// Complex amplitudes on the vertices of a mesh, whose neighbours are handed out as pieces of one array.
// usage: waves_complex side steps natural
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "edges.h"

using Complex = std::complex<double>;

template <class T> class Piece {
  public:
    Piece(const std::vector<T> &from, std::size_t first, std::size_t count) : data(from.data() + first), count(count) {}
    const T *begin() const { return data; }
    const T *end() const { return data + count; }

  private:
    const T *data;
    std::size_t count;
};

struct Network {
    int vertices = 0;
    std::vector<int> start, neighbour;
    Complex phase = std::polar(0.24, 0.3);

    Piece<int> around(int v) const { return {neighbour, std::size_t(start[v]), std::size_t(start[v + 1] - start[v])}; }
};

class Waves {
  public:
    explicit Waves(Network &&made) : net(std::move(made)), now(net.vertices), next(net.vertices)
    {
        for (int v = 0; v < net.vertices; v++)
            now[v] = Complex(1 + v % 5, v % 3);
    }

    void step()
    {
        for (int v = 0; v < net.vertices; v++) {
            Complex sum = 0.01 * now[v];
            for (int w : net.around(v))
                sum += net.phase * now[w];
            next[v] = sum;
        }
        std::swap(now, next);
    }

    double energy() const
    {
        double sum = 0;
        for (const Complex &one : now)
            sum += std::norm(one);
        return sum;
    }

  private:
    Network net;
    std::vector<Complex> now, next;
};

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20;
    Network net;
    net.vertices = side * side;
    net.start.assign(net.vertices + 1, 0);
    auto edges = make_edges(side, argc > 3 && atoi(argv[3]));
    for (const Edge &e : edges) {
        net.start[e.a + 1]++;
        net.start[e.b + 1]++;
    }
    for (int v = 0; v < net.vertices; v++)
        net.start[v + 1] += net.start[v];
    net.neighbour.resize(net.start[net.vertices]);
    std::vector<int> at(net.start.begin(), net.start.end() - 1);
    for (const Edge &e : edges) {
        net.neighbour[at[e.a]++] = e.b;
        net.neighbour[at[e.b]++] = e.a;
    }
    Waves waves(std::move(net));
    for (int t = 0; t < steps; t++)
        waves.step();
    printf("%.9e\n", waves.energy());
    return 0;
}
