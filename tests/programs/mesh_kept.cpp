/* A structure holds points, the rows of their neighbours, and a bit for each that stays; a step copies what stays whole.
   usage: mesh_kept side steps natural */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

struct Point {
    double x, y, z;
};

struct Mesh {
    std::vector<Point> points;
    std::vector<std::vector<int>> near;
    std::vector<bool> stays;
};

static void connect(Mesh &mesh, int a, int b)
{
    std::vector<int> &row = mesh.near[a];
    if (std::find(row.begin(), row.end(), b) == row.end())
        row.push_back(b);
}

static Mesh make_mesh(int side, bool natural)
{
    std::vector<int> name(side * side);
    std::iota(name.begin(), name.end(), 0);
    if (!natural)
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
    Mesh mesh;
    mesh.points.resize(name.size());
    mesh.near.resize(name.size());
    mesh.stays.resize(name.size());
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            int v = name[y * side + x];
            mesh.stays[v] = x == 0 || y == 0 || x == side - 1 || y == side - 1;
            mesh.points[v] = {x + 0.1 * ((x * 7 + y) % 5), y + 0.1 * ((x + y * 3) % 7), 0.05 * ((x * y) % 11)};
        }
    for (int y = 0; y + 1 < side; y++)
        for (int x = 0; x + 1 < side; x++) {
            int corner[4] = {y * side + x, y * side + x + 1, (y + 1) * side + x + 1, (y + 1) * side + x};
            for (int k = 0; k < 4; k++) {
                connect(mesh, name[corner[k]], name[corner[(k + 1) % 4]]);
                connect(mesh, name[corner[(k + 1) % 4]], name[corner[k]]);
            }
        }
    return mesh;
}

static void smooth(Mesh &mesh, int steps, double weight)
{
    std::vector<Point> next(mesh.points.size());
    for (int t = 0; t < steps; t++) {
        for (std::size_t v = 0; v < mesh.points.size(); v++) {
            if (mesh.stays[v]) {
                next[v] = mesh.points[v];
                continue;
            }
            Point sum = {0, 0, 0};
            for (int u : mesh.near[v]) {
                sum.x += mesh.points[u].x;
                sum.y += mesh.points[u].y;
                sum.z += mesh.points[u].z;
            }
            const double part = 1.0 / mesh.near[v].size();
            const Point &p = mesh.points[v];
            next[v] = {p.x + weight * (sum.x * part - p.x), p.y + weight * (sum.y * part - p.y),
                       p.z + weight * (sum.z * part - p.z)};
        }
        mesh.points.swap(next);
    }
}

int main(int argc, char **argv)
{
    Mesh mesh = make_mesh(argc > 1 ? std::atoi(argv[1]) : 30, argc > 3 && std::atoi(argv[3]));
    smooth(mesh, argc > 2 ? std::atoi(argv[2]) : 20, 0.5);
    double sum = 0;
    for (std::size_t v = 0; v < mesh.points.size(); v++)
        sum += mesh.points[v].x * (1 + v % 5) - mesh.points[v].y + mesh.points[v].z;
    std::printf("%.12g\n", sum);
}
