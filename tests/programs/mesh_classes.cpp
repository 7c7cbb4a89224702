/* A solver behind a pointer, with a reference to a mesh on the stack of main and a virtual flux for each edge.
   usage: mesh_classes side steps natural [other] */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

struct Mesh {
    int vertices = 0;
    std::vector<int> ends;
    std::vector<double> weight;
};

class Solver {
public:
    Solver(Mesh &mesh, std::vector<double> u) : mesh_(mesh), u_(std::move(u)), r_(u_.size()) {}
    virtual ~Solver() = default;
    void step()
    {
        std::fill(r_.begin(), r_.end(), 0.0);
        for (std::size_t e = 0; e < mesh_.weight.size(); e++) {
            const int a = mesh_.ends[2 * e], b = mesh_.ends[2 * e + 1];
            const double f = mesh_.weight[e] * flux(u_[a], u_[b]);
            r_[a] += f;
            r_[b] -= f;
        }
        for (std::size_t v = 0; v < u_.size(); v++)
            u_[v] += 0.05 * r_[v];
    }
    double sum() const
    {
        double found = 0;
        for (std::size_t v = 0; v < u_.size(); v++)
            found += u_[v] * (1 + v % 5);
        return found;
    }

protected:
    virtual double flux(double left, double right) const { return right - left; }
    Mesh &mesh_;
    std::vector<double> u_, r_;
};

class Porous : public Solver {
public:
    Porous(Mesh &mesh, std::vector<double> u, double most) : Solver(mesh, std::move(u)), most_(most) {}

protected:
    double flux(double left, double right) const override
    {
        return std::min(0.5 + 0.5 * (left + right), most_) * (right - left);
    }

private:
    double most_;
};

static Mesh make_mesh(int side, bool natural)
{
    std::vector<int> name(side * side);
    std::iota(name.begin(), name.end(), 0);
    std::vector<std::pair<int, int>> edges;
    if (!natural)
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            if (x + 1 < side)
                edges.emplace_back(name[y * side + x], name[y * side + x + 1]);
            if (y + 1 < side)
                edges.emplace_back(name[y * side + x], name[y * side + x + side]);
        }
    if (!natural)
        std::shuffle(edges.begin(), edges.end(), std::mt19937(9));
    Mesh mesh;
    mesh.vertices = side * side;
    for (const auto &[a, b] : edges) {
        mesh.ends.push_back(a);
        mesh.ends.push_back(b);
        mesh.weight.push_back(0.5 + 0.25 * (a & 1));
    }
    return mesh;
}

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    Mesh mesh = make_mesh(side, argc > 3 && std::atoi(argv[3]));
    std::vector<double> u(mesh.vertices);
    for (std::size_t v = 0; v < u.size(); v++)
        u[v] = 0.01 * (1 + v % 7);
    std::unique_ptr<Solver> solver;
    if (argc > 4)
        solver = std::make_unique<Solver>(mesh, std::move(u));
    else
        solver = std::make_unique<Porous>(mesh, std::move(u), 0.8);
    for (int t = 0; t < steps; t++)
        solver->step();
    std::printf("%.12g\n", solver->sum());
    return 0;
}
