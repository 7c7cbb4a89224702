/* Image warped by a displacement of each pixel (bilinear). usage: image_warp side steps natural */
#include "mesh.h"
int main(int argc, char **argv)
{
    int side = argc > 1 ? atoi(argv[1]) : 30, steps = argc > 2 ? atoi(argv[2]) : 20, natural = argc > 3 && atoi(argv[3]);
    int n = side * side;
    int *number = numbering(n, natural);
    double *image = filled(n, 0.01), *out = filled(n, 0), *px = malloc((size_t)n * sizeof *px), *py = malloc((size_t)n * sizeof *py);
    for (int i = 0; i < n; i++) {
        px[i] = (number[i] % side) * 0.999;
        py[i] = (number[i] / side) * 0.999;
    }
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < n; i++) {
            int x = (int)px[i], y = (int)py[i];
            if (x < 0 || y < 0 || x >= side - 1 || y >= side - 1)
                continue;
            double fx = px[i] - x, fy = py[i] - y;
            const double *at = &image[y * side + x];
            out[i] = (1 - fy) * ((1 - fx) * at[0] + fx * at[1]) + fy * ((1 - fx) * at[side] + fx * at[side + 1]);
        }
        for (int i = 0; i < n; i++)
            image[i] = 0.9 * image[i] + 0.01 * out[i];
    }
    tell("image", image, n);
    return 0;
}
