/* Points as rows that are reached through a list of their own; each adds to the sums of the centre that is nearest.
   usage: kmeans_rows side steps natural */
#include "rows.h"
enum { DIM = 8, CENTRES = 5 };

int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int n = side * side, *when = numbering(n, natural), *member = calloc((size_t)n, sizeof *member);
    float **point = malloc((size_t)n * sizeof *point), **centre = malloc(CENTRES * sizeof *centre);
    float **sums = malloc(CENTRES * sizeof *sums);
    int count[CENTRES] = {0}, changed = 0;
    for (int i = 0; i < n; i++)
        point[when[i]] = malloc(DIM * sizeof **point);
    for (int i = 0; i < n; i++)
        for (int d = 0; d < DIM; d++)
            point[i][d] = (float)((i * 13 + d * 7) % 32) / 32;
    for (int c = 0; c < CENTRES; c++) {
        centre[c] = malloc(DIM * sizeof **centre);
        sums[c] = calloc(DIM, sizeof **sums);
        memcpy(centre[c], point[c], DIM * sizeof **centre);
    }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            float least = 1e30f;
            int best = 0;
            for (int c = 0; c < CENTRES; c++) {
                float far = 0;
                for (int d = 0; d < DIM; d++)
                    far += (point[i][d] - centre[c][d]) * (point[i][d] - centre[c][d]);
                if (far < least)
                    least = far, best = c;
            }
            changed += member[i] != best;
            member[i] = best;
            count[best]++;
            for (int d = 0; d < DIM; d++)
                sums[best][d] += point[i][d];
        }
        for (int c = 0; c < CENTRES; c++) {
            for (int d = 0; d < DIM; d++) {
                centre[c][d] = sums[c][d] / (float)(count[c] + 1);
                sums[c][d] = 0;
            }
            count[c] = 0;
        }
    }
    printf("%d\n", changed);
    return 0;
}
