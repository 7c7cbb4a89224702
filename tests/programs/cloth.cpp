/* Springs between points of a cloth, as classes with operators. usage: cloth side steps natural */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include "edges.h"

struct Vec {
    float x = 0, y = 0, z = 0;
    Vec operator+(const Vec &o) const { return {x + o.x, y + o.y, z + o.z}; }
    Vec operator-(const Vec &o) const { return {x - o.x, y - o.y, z - o.z}; }
    Vec operator*(float s) const { return {x * s, y * s, z * s}; }
    Vec &operator+=(const Vec &o) { return *this = *this + o; }
    Vec &operator-=(const Vec &o) { return *this = *this - o; }
    float norm() const { return std::sqrt(x * x + y * y + z * z); }
};

struct Point {
    Vec place, speed, force;
    bool fixed = false;
};

class Cloth {
    std::vector<Point> points;
    std::vector<Edge> springs;

  public:
    Cloth(int side, bool natural) : points(side * side), springs(make_edges(side, natural))
    {
        for (std::size_t i = 0; i < points.size(); i++) {
            points[i].place = {0.1f * (i % 17), 0.1f * (i % 13), 0.1f * (i % 5)};
            points[i].fixed = i % 97 == 0;
        }
    }
    void step(float dt)
    {
        for (const Edge &spring : springs) {
            Point &a = points[spring.a], &b = points[spring.b];
            Vec way = b.place - a.place;
            Vec pull = way * float(spring.weight * (1 - 0.5f / (way.norm() + 0.01f)));
            a.force += pull;
            b.force -= pull;
        }
        for (Point &p : points) {
            if (!p.fixed) {
                p.speed += p.force * dt;
                p.place += p.speed * dt;
            }
            p.force = {};
        }
    }
    double height() const
    {
        return std::accumulate(points.begin(), points.end(), 0.0, [](double s, const Point &p) { return s + p.place.z; });
    }
};

int main(int argc, char **argv)
{
    Cloth cloth(argc > 1 ? std::atoi(argv[1]) : 30, argc > 3 && std::atoi(argv[3]));
    for (int t = 0, steps = argc > 2 ? std::atoi(argv[2]) : 20; t < steps; t++)
        cloth.step(0.01f);
    std::printf("%.5e\n", cloth.height());
}
