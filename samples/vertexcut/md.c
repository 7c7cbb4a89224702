/*
 * md: one velocity Verlet step of 512 particles that attract and repel each other (Lennard-Jones, with a cut-off).
 *
 * The particles start near the points of a cubic grid, at rest, without periodic images. Every pair is looked at once.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define SIDE 8
#define PARTICLES (SIDE * SIDE * SIDE)
#define SPACING 1.2
#define CUTOFF 2.0
#define STEP 0.001
#define EXPECTED -1558.17826755

typedef struct {
    double x, y, z;
} Vector;

static Vector position[PARTICLES], velocity[PARTICLES], force[PARTICLES];

static uint32_t state = 1;

static double next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 16777216.0 - 0.5;
}

/* Sets the forces; returns the potential energy. */
static double compute_forces(void)
{
    double energy = 0;
    for (int i = 0; i < PARTICLES; i++)
        force[i] = (Vector){0, 0, 0};
    for (int i = 0; i < PARTICLES; i++)
        for (int j = i + 1; j < PARTICLES; j++) {
            double dx = position[i].x - position[j].x;
            double dy = position[i].y - position[j].y;
            double dz = position[i].z - position[j].z;
            double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 > CUTOFF * CUTOFF)
                continue;
            double s = 1 / r2, s3 = s * s * s;
            double f = 24 * s * s3 * (2 * s3 - 1);
            energy += 4 * s3 * (s3 - 1);
            force[i].x += f * dx;
            force[i].y += f * dy;
            force[i].z += f * dz;
            force[j].x -= f * dx;
            force[j].y -= f * dy;
            force[j].z -= f * dz;
        }
    return energy;
}

/* Moves the particles; returns their kinetic energy. */
static double advance(void)
{
    double energy = 0;
    for (int i = 0; i < PARTICLES; i++) {
        velocity[i].x += STEP * force[i].x;
        velocity[i].y += STEP * force[i].y;
        velocity[i].z += STEP * force[i].z;
        position[i].x += STEP * velocity[i].x;
        position[i].y += STEP * velocity[i].y;
        position[i].z += STEP * velocity[i].z;
        energy += velocity[i].x * velocity[i].x + velocity[i].y * velocity[i].y + velocity[i].z * velocity[i].z;
    }
    return energy / 2;
}

int main(void)
{
    for (int i = 0; i < PARTICLES; i++) {
        position[i].x = SPACING * (i % SIDE) + 0.1 * next_random();
        position[i].y = SPACING * (i / SIDE % SIDE) + 0.1 * next_random();
        position[i].z = SPACING * (i / (SIDE * SIDE)) + 0.1 * next_random();
    }
    double potential = compute_forces();
    double kinetic = advance();
    printf("md %.9e %.9e\n", potential, kinetic);
    return fabs(potential + 1e3 * kinetic - EXPECTED) > 1e-9 * fabs(EXPECTED);
}
