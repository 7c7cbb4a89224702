/* Springs hold pointers to the nodes that they pull at; nodes lie in a vector, and each step goes through all of them.
   usage: springs_pointed side steps natural */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

struct Node {
    double at[2], velocity[2], force[2];
    double mass;
    bool fixed;
};

class Spring {
public:
    Spring(Node *a, Node *b, double strength) : a_(a), b_(b), strength_(strength), rest_(distance()) {}

    void pull() const
    {
        double now = distance(), part = strength_ * (now - rest_) / now;
        for (int d = 0; d < 2; d++) {
            double f = part * (b_->at[d] - a_->at[d]);
            a_->force[d] += f;
            b_->force[d] -= f;
        }
    }

private:
    double distance() const { return std::hypot(b_->at[0] - a_->at[0], b_->at[1] - a_->at[1]); }

    Node *a_, *b_;
    double strength_, rest_;
};

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 30, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    std::vector<int> name(side * side);
    std::iota(name.begin(), name.end(), 0);
    bool natural = argc > 3 && std::atoi(argv[3]);
    if (!natural)
        std::shuffle(name.begin(), name.end(), std::mt19937(5));
    std::vector<Node> nodes(name.size());
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            Node &node = nodes[name[y * side + x]];
            node = {{double(x), double(y)}, {0.1 * ((x * 7 + y) % 5), 0.1 * ((x + 3 * y) % 7)}, {0, 0}, 1.0 + x % 3, y == 0};
        }
    std::vector<Spring> springs;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            if (x + 1 < side)
                springs.emplace_back(&nodes[name[y * side + x]], &nodes[name[y * side + x + 1]], 1.0 + y % 2);
            if (y + 1 < side)
                springs.emplace_back(&nodes[name[y * side + x]], &nodes[name[(y + 1) * side + x]], 1.5);
        }
    if (!natural)
        std::shuffle(springs.begin(), springs.end(), std::mt19937(9));
    for (int t = 0; t < steps; t++) {
        for (Node &node : nodes)
            node.force[0] = 0, node.force[1] = -0.01 * node.mass;
        for (const Spring &spring : springs)
            spring.pull();
        for (Node &node : nodes)
            for (int d = 0; d < 2 && !node.fixed; d++) {
                node.velocity[d] = 0.999 * (node.velocity[d] + 0.01 * node.force[d] / node.mass);
                node.at[d] += 0.01 * node.velocity[d];
            }
    }
    double sum = 0;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            sum += nodes[name[y * side + x]].at[0] * (1 + x % 3) + nodes[name[y * side + x]].at[1];
    std::printf("%.9g\n", sum);
    return 0;
}
