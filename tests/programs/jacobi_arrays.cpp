/* Jacobi with four neighbours a point in a vector of arrays; -1 stands for the border.
   usage: jacobi_arrays side steps natural */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

int main(int argc, char **argv)
{
    const int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20, n = side * side;
    std::vector<int> name(n);
    std::iota(name.begin(), name.end(), 0);
    if (!(argc > 3 && std::atoi(argv[3])))
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
    std::vector<std::array<int, 4>> near(n);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            near[name[y * side + x]] = {x > 0 ? name[y * side + x - 1] : -1, x + 1 < side ? name[y * side + x + 1] : -1,
                                        y > 0 ? name[(y - 1) * side + x] : -1,
                                        y + 1 < side ? name[(y + 1) * side + x] : -1};
    std::vector<double> u(n), next(n);
    for (int i = 0; i < n; i++)
        u[i] = 0.01 * (i % 7);
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j : near[i])
                if (j >= 0)
                    sum += u[j];
            next[i] = 0.25 * sum;
        }
        u.swap(next);
    }
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += u[i] * (1 + i % 5);
    std::printf("%.12g\n", sum);
}
