/* Fluxes as in an unstructured Euler solver, five fields a cell: through the four sides of each cell, which are read
 * from both sides, or, with FACES, through each face once, added to the cells on both sides. A square of SIDE × SIDE
 * cells, numbered at random or ("natural") row by row. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDES 4

#ifdef FACES
#define ACROSS(f) (through * (field[5 * a + f] + field[5 * b + f]) - 0.1f * (field[5 * b + f] - field[5 * a + f]))

__attribute__((noinline)) static void fluxes(int cells, const int *near, const float *normal, const float *field,
                                             float *out) {
  for (int face = 0; face < 2 * cells; face++) {
    int a = near[2 * face], b = near[2 * face + 1];
    float da = field[5 * a], db = field[5 * b], through = 0;
    for (int axis = 0; axis < 3; axis++)
      through += 0.5f * normal[3 * face + axis] * (field[5 * a + 1 + axis] / da + field[5 * b + 1 + axis] / db);
    float f0 = ACROSS(0), f1 = ACROSS(1), f2 = ACROSS(2), f3 = ACROSS(3), f4 = ACROSS(4);
    out[5 * a] -= f0, out[5 * a + 1] -= f1, out[5 * a + 2] -= f2, out[5 * a + 3] -= f3, out[5 * a + 4] -= f4;
    out[5 * b] += f0, out[5 * b + 1] += f1, out[5 * b + 2] += f2, out[5 * b + 3] += f3, out[5 * b + 4] += f4;
  }
}
#else
__attribute__((noinline)) static void fluxes(int cells, const int *near, const float *normal, const float *field,
                                             float *out) {
  for (int cell = 0; cell < cells; cell++) {
    float d = field[5 * cell], mx = field[5 * cell + 1], my = field[5 * cell + 2], mz = field[5 * cell + 3];
    float e = field[5 * cell + 4], fd = 0, fx = 0, fy = 0, fz = 0, fe = 0;
    for (int side = 0; side < SIDES; side++) {
      int other = near[SIDES * cell + side];
      const float *n = normal + 3 * (SIDES * cell + side);
      float od = field[5 * other], ox = field[5 * other + 1], oy = field[5 * other + 2], oz = field[5 * other + 3];
      float oe = field[5 * other + 4];
      float through = 0.5f * (n[0] * (mx / d + ox / od) + n[1] * (my / d + oy / od) + n[2] * (mz / d + oz / od));
      fd += through * (d + od) - 0.1f * (od - d);
      fx += through * (mx + ox) - 0.1f * (ox - mx);
      fy += through * (my + oy) - 0.1f * (oy - my);
      fz += through * (mz + oz) - 0.1f * (oz - mz);
      fe += through * (e + oe) - 0.1f * (oe - e);
    }
    out[5 * cell] = fd, out[5 * cell + 1] = fx, out[5 * cell + 2] = fy, out[5 * cell + 3] = fz, out[5 * cell + 4] = fe;
  }
}

#endif

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 300, cells = side * side, steps = argc > 2 ? atoi(argv[2]) : 4;
  int natural = argc > 3 && !strcmp(argv[3], "natural");
  int *name = malloc(cells * sizeof *name), *near = malloc(SIDES * cells * sizeof *near);
  float *normal = malloc(3 * SIDES * cells * sizeof *normal);
  float *field = malloc(5 * cells * sizeof *field), *out = calloc(5 * cells, sizeof *out);
  unsigned long state = 1;
  for (int i = 0; i < cells; i++) name[i] = i;
  for (int i = cells - 1; i > 0 && !natural; i--) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    int other = (int)((state >> 33) % (i + 1)), kept = name[i];
    name[i] = name[other], name[other] = kept;
  }
  for (int row = 0; row < side; row++)
    for (int column = 0; column < side; column++) {
      int mine = name[side * row + column], *to = near + SIDES * mine;
#ifdef FACES
      to[0] = mine, to[1] = name[side * row + (column + 1) % side], to[2] = mine;
      to[3] = name[side * ((row + 1) % side) + column];
#else
      to[0] = name[side * row + (column + 1) % side], to[1] = name[side * row + (column + side - 1) % side];
      to[2] = name[side * ((row + 1) % side) + column], to[3] = name[side * ((row + side - 1) % side) + column];
#endif
      for (int s = 0; s < SIDES; s++)
        normal[3 * (SIDES * mine + s)] = s < 2 ? 1 - 2 * s : 0, normal[3 * (SIDES * mine + s) + 1] = s < 2 ? 0 : 5 - 2 * s,
        normal[3 * (SIDES * mine + s) + 2] = 0;
      for (int f = 0; f < 5; f++) field[5 * mine + f] = 1 + 0.01f * ((row * 7 + column * 3 + f) % 11);
    }
  for (int step = 0; step < steps; step++) {
    memset(out, 0, 5 * cells * sizeof *out);
    fluxes(cells, near, normal, field, out);
    for (int i = 0; i < 5 * cells; i++) field[i] += 1e-3f * out[i];
  }
  double sum = 0;
  for (int i = 0; i < 5 * cells; i++) sum += field[i];
  printf("%.5e\n", sum);
  return 0;
}
