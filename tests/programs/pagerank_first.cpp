/* Rows in vectors of vectors; the first step copies the scores, where further ones scale what was copied. What is told,
   and links that are added, depend on a word.
   usage: pagerank_first side steps natural quiet|told|links */
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <algorithm>
#include <vector>

struct Table {
    bool told, links;
    std::vector<std::vector<std::size_t>> rows;
    std::vector<std::size_t> outgoing;
    std::vector<double> scores;

    void add(std::size_t from, std::size_t to)
    {
        rows[to].push_back(from);
        outgoing[from]++;
    }

    void run(unsigned steps)
    {
        std::size_t n = rows.size();
        std::vector<double> old;
        double error = 1;
        scores.resize(n);
        scores[0] = 1;
        for (unsigned t = 0; t < steps && error > 1e-12; t++) {
            double all = 0, lost = 0;
            for (std::size_t k = 0; k < n; k++) {
                all += scores[k];
                if (outgoing[k] == 0)
                    lost += scores[k];
            }
            if (links && t % 6 == 3)
                add(t * 5 % n, t * 7 % n);
            if (t == 0)
                old = scores;
            else
                for (std::size_t i = 0; i < n; i++)
                    old[i] = scores[i] / all;
            error = 0;
            for (std::size_t i = 0; i < n; i++) {
                double sum = 0;
                for (auto from = rows[i].begin(); from != rows[i].end(); from++) {
                    double share = outgoing[*from] ? 1.0 / outgoing[*from] : 0.0;
                    if (t == 0 && told)
                        std::cout << i << " from " << *from << ": " << share << std::endl;
                    sum += share * old[*from];
                }
                scores[i] = 0.85 * (sum + lost / n) + 0.15 / n;
                error += std::fabs(scores[i] - old[i]);
            }
            if (told)
                std::cout << "step " << t << " error " << error << std::endl;
        }
    }
};

int main(int argc, char **argv)
{
    int side = argc > 1 ? std::atoi(argv[1]) : 30, n = side * side;
    std::string word = argc > 4 ? argv[4] : "";
    Table table{word == "told", word == "links", {}, {}, {}};
    std::vector<int> name(n);
    std::iota(name.begin(), name.end(), 0);
    if (argc <= 3 || !std::atoi(argv[3]))
        std::shuffle(name.begin(), name.end(), std::mt19937(7));
    table.rows.resize(n);
    table.outgoing.assign(n, 0);
    for (int v = 0; v < n; v++)
        for (int to : {v + 1, v + side, v + side + 1, v + n - 1, v + n - side})
            if (v % 50)
                table.add(name[v], name[to % n]);
    table.run(argc > 2 ? std::atoi(argv[2]) : 20);
    double sum = 0;
    for (int v = 0; v < n; v++)
        sum += table.scores[name[v]] * (v % 7 + 1);
    std::cout << "sum " << sum << "\n";
}
