/*
 * md_forces: molecular dynamics with short-range forces from a neighbour list.
 *
 * Lennard-Jones forces act between atoms closer than a cut-off, except between neighbours in a molecule
 * (atoms of one residue or of two consecutive ones): those are held together by springs. There are no
 * charges. The list of close pairs is a half list (each pair once) in compressed rows; it reaches a little
 * further than the cut-off and is rebuilt when an atom has moved by half of that margin. The motion is
 * integrated by the velocity Verlet scheme in a periodic box.
 *
 * The configuration is read from a file and repeated in each direction of the box.
 *
 *     cc -O2 -std=c11 md_forces.c -o md_forces -lm
 *     ./md_forces --help
 *
 * Units: Angstrom, femtosecond, atomic mass unit, kcal/mol.
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CUTOFF 5.0
#define MARGIN 0.5             /* how much further than the cut-off the list reaches */
#define BOND_REACH 2.6         /* closer neighbours in a molecule are bonded */
#define BOND_STIFFNESS 300.0   /* kcal/mol/A^2 */
#define TIME_STEP 0.5          /* fs */
#define TEMPERATURE 100.0      /* K, at the start */
#define ACCELERATION 4.184e-4  /* A/fs^2 for 1 kcal/mol/A on 1 amu */
#define BOLTZMANN 1.987204e-3  /* kcal/mol/K */

typedef struct {
    double x, y, z;
} Vec3;

/* The pair (i, j) has the energy c12[i] c12[j] / r^12 - c6[i] c6[j] / r^6. */
typedef struct {
    double c12, c6;
} LennardJones;

typedef struct {
    int n;
    Vec3 box;
    Vec3 *position, *velocity, *force;
    LennardJones *lj;
    double *mass;
    int *chain; /* neighbours in a molecule have the same or consecutive chain numbers */
} Atoms;

/* The pairs of atom i are i and neighbour[start[i]] ... neighbour[start[i+1]-1]. */
typedef struct {
    int *start;
    int *neighbour;
    Vec3 *built_at; /* positions when the list was built */
} PairList;

typedef struct {
    int n;
    int *i, *j;
    double *length;
} Bonds;

typedef struct {
    const char *name;
    double mass, sigma, epsilon;
} Element;

static const Element elements[] = {
    {"H", 1.008, 0.40, 0.046}, {"C", 12.011, 3.50, 0.100}, {"N", 14.007, 3.25, 0.170},
    {"O", 15.999, 3.15, 0.152}, {"S", 32.060, 3.56, 0.250},
};

typedef struct {
    const char *path;
    int scale, steps, every, natural;
    uint64_t seed;
} Options;

/* ------------------------------------------------------------------------------------------------ */

static void fail(const char *where, const char *what)
{
    fprintf(stderr, "md_forces: %s: %s\n", where, what);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (p == NULL)
        fail("memory", "not enough for so many atoms");
    return p;
}

static double *new_doubles(int n) { return allocate((size_t)n, sizeof(double)); }
static int *new_ints(int n) { return allocate((size_t)n, sizeof(int)); }
static Vec3 *new_vectors(int n) { return allocate((size_t)n, sizeof(Vec3)); }

/* Makes room for at least `needed` ints in an array that grows. */
static int *grow(int *p, size_t needed, size_t *capacity)
{
    if (needed <= *capacity)
        return p;
    while (*capacity < needed)
        *capacity = *capacity + *capacity / 2 + 1024;
    p = realloc(p, *capacity * sizeof *p);
    if (p == NULL)
        fail("memory", "not enough for so many pairs");
    return p;
}

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t r = *state += 0x9e3779b97f4a7c15u;
    r = (r ^ (r >> 30)) * 0xbf58476d1ce4e5b9u;
    r = (r ^ (r >> 27)) * 0x94d049bb133111ebu;
    return r ^ (r >> 31);
}

/* A random permutation of 0..n-1 (Fisher-Yates). */
static int *random_permutation(int n, uint64_t *state)
{
    int *p = new_ints(n);
    for (int i = 0; i < n; i++) {
        int j = (int)(((next_random(state) >> 32) * (uint64_t)(i + 1)) >> 32);
        p[i] = p[j];
        p[j] = i;
    }
    return p;
}

/* A normally distributed number: the sum of twelve uniform ones, less its mean. */
static double random_normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(next_random(state) >> 11) * 0x1p-53;
    return sum;
}

/* ------------------------------------------------------------------------------------------------ */
/* The configuration                                                                                 */

static Atoms new_atoms(int n, Vec3 box)
{
    Atoms a = {.n = n, .box = box};
    a.position = new_vectors(n);
    a.velocity = new_vectors(n);
    a.force = new_vectors(n);
    a.lj = allocate((size_t)n, sizeof *a.lj);
    a.mass = new_doubles(n);
    a.chain = new_ints(n);
    return a;
}

static void free_atoms(Atoms *a)
{
    free(a->position);
    free(a->velocity);
    free(a->force);
    free(a->lj);
    free(a->mass);
    free(a->chain);
}

static double wrapped(double x, double box)
{
    x -= box * floor(x / box);
    return x < box ? x : 0; /* a tiny negative x can round to the box itself */
}

static void wrap(Atoms *a)
{
    for (int i = 0; i < a->n; i++) {
        a->position[i].x = wrapped(a->position[i].x, a->box.x);
        a->position[i].y = wrapped(a->position[i].y, a->box.y);
        a->position[i].z = wrapped(a->position[i].z, a->box.z);
    }
}

static const Element *find_element(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (strcmp(elements[i].name, name) == 0)
            return &elements[i];
    return NULL;
}

/* Turns residue numbers into chain numbers: the residues of a polymer follow each other, small
   molecules (three atoms at most) stay apart. */
static void number_chains(Atoms *a)
{
    int previous_size = 0, chain = 0;
    for (int first = 0, last; first < a->n; first = last) {
        int residue = a->chain[first];
        for (last = first; last < a->n && a->chain[last] == residue; last++)
            ;
        int size = last - first;
        chain += size > 3 && previous_size > 3 ? 1 : 2;
        previous_size = size;
        for (int i = first; i < last; i++)
            a->chain[i] = chain;
    }
}

/* First the number of atoms and the edges of the box, then an atom a line: element, number of its
   residue, x, y, z. Lines that start with # are comments. */
static Atoms read_atoms(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f == NULL)
        fail(path, "cannot be opened");
    char line[256];
    Atoms a = {0};
    int filled = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        char name[8];
        Vec3 p;
        int n, residue;
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (a.position == NULL) {
            if (sscanf(line, "%d %lf %lf %lf", &n, &p.x, &p.y, &p.z) != 4)
                fail(path, "the number of atoms and the edges of the box were expected");
            if (n < 1 || n > INT_MAX / 64 || !(p.x > 0 && p.y > 0 && p.z > 0 && p.x + p.y + p.z < 1e6))
                fail(path, "the number of atoms or the box makes no sense");
            a = new_atoms(n, p);
            continue;
        }
        if (sscanf(line, "%7s %d %lf %lf %lf", name, &residue, &p.x, &p.y, &p.z) != 5)
            fail(path, "an element, a residue and three coordinates were expected");
        if (!(fabs(p.x) < 1e6 && fabs(p.y) < 1e6 && fabs(p.z) < 1e6))
            fail(path, "a coordinate is out of range");
        const Element *e = find_element(name);
        if (e == NULL)
            fail(path, "an element is none of H, C, N, O, S");
        if (filled == a.n)
            fail(path, "there are more atoms than the first line says");
        double sigma3 = e->sigma * e->sigma * e->sigma;
        a.position[filled] = p;
        a.chain[filled] = residue;
        a.mass[filled] = e->mass;
        a.lj[filled] = (LennardJones){2 * sqrt(e->epsilon) * sigma3 * sigma3, 2 * sqrt(e->epsilon) * sigma3};
        filled++;
    }
    fclose(f);
    if (a.position == NULL || filled < a.n)
        fail(path, "there are fewer atoms than the first line says");
    number_chains(&a);
    wrap(&a);
    return a;
}

/* Repeats the box `times` times in each direction. */
static Atoms replicate(const Atoms *a, int times)
{
    Atoms r = new_atoms(a->n * times * times * times, (Vec3){a->box.x * times, a->box.y * times, a->box.z * times});
    int k = 0;
    for (int ix = 0; ix < times; ix++)
        for (int iy = 0; iy < times; iy++)
            for (int iz = 0; iz < times; iz++)
                for (int i = 0; i < a->n; i++, k++) {
                    r.position[k].x = a->position[i].x + ix * a->box.x;
                    r.position[k].y = a->position[i].y + iy * a->box.y;
                    r.position[k].z = a->position[i].z + iz * a->box.z;
                    r.mass[k] = a->mass[i];
                    r.lj[k] = a->lj[i];
                    r.chain[k] = a->chain[i];
                }
    return r;
}

static void set_temperature(Atoms *a, double temperature, uint64_t *random)
{
    for (int i = 0; i < a->n; i++) {
        double speed = sqrt(BOLTZMANN * temperature * ACCELERATION / a->mass[i]);
        a->velocity[i].x = speed * random_normal(random);
        a->velocity[i].y = speed * random_normal(random);
        a->velocity[i].z = speed * random_normal(random);
    }
}

/* Atom i gets the number number[i]. */
static Atoms renumber(const Atoms *a, const int *number)
{
    Atoms r = new_atoms(a->n, a->box);
    for (int i = 0; i < a->n; i++) {
        int k = number[i];
        r.position[k] = a->position[i];
        r.velocity[k] = a->velocity[i];
        r.lj[k] = a->lj[i];
        r.mass[k] = a->mass[i];
        r.chain[k] = a->chain[i];
    }
    return r;
}

static Atoms make_atoms(const Options *o)
{
    Atoms one = read_atoms(o->path);
    int times = o->scale + 1;
    if ((double)one.n * times * times * times > 1.6e7)
        fail(o->path, "there would be too many atoms; try a smaller --scale");
    Atoms a = replicate(&one, times);
    free_atoms(&one);
    uint64_t random = o->seed;
    set_temperature(&a, TEMPERATURE, &random);
    if (!o->natural) {
        int *number = random_permutation(a.n, &random);
        Atoms scattered = renumber(&a, number);
        free(number);
        free_atoms(&a);
        a = scattered;
    }
    return a;
}

/* ------------------------------------------------------------------------------------------------ */
/* The lists of pairs and of bonds                                                                   */

/* The difference of two coordinates to the nearest periodic image. */
static double nearest(double d, double box)
{
    if (d > 0.5 * box)
        return d - box;
    if (d < -0.5 * box)
        return d + box;
    return d;
}

static int neighbours(const Atoms *a, int i, int j)
{
    return abs(a->chain[i] - a->chain[j]) <= 1;
}

/* Atoms sorted into cells at least as wide as the reach of the list. The atoms of cell c are
   atom[first[c]] ... atom[first[c+1]-1]; `position` has the order of `atom`. */
typedef struct {
    int nx, ny, nz;
    int *first, *atom;
    Vec3 *position;
} Cells;

static Cells sort_into_cells(const Atoms *a, double width)
{
    Cells c = {.nx = (int)(a->box.x / width), .ny = (int)(a->box.y / width), .nz = (int)(a->box.z / width)};
    if (c.nx < 3 || c.ny < 3 || c.nz < 3)
        fail("box", "is too small for the cut-off");
    if ((double)c.nx * c.ny * c.nz > INT_MAX / 2)
        fail("box", "is too large for the cut-off");
    int n_cells = c.nx * c.ny * c.nz;
    c.first = new_ints(n_cells + 1);
    c.atom = new_ints(a->n);
    c.position = new_vectors(a->n);
    int *cell = new_ints(a->n), *fill = new_ints(n_cells);
    for (int i = 0; i < a->n; i++) {
        int x = (int)(a->position[i].x / a->box.x * c.nx), y = (int)(a->position[i].y / a->box.y * c.ny),
            z = (int)(a->position[i].z / a->box.z * c.nz);
        x = x < c.nx ? x : c.nx - 1;
        y = y < c.ny ? y : c.ny - 1;
        z = z < c.nz ? z : c.nz - 1;
        cell[i] = (x * c.ny + y) * c.nz + z;
        c.first[cell[i] + 1]++;
    }
    for (int k = 0; k < n_cells; k++)
        c.first[k + 1] += c.first[k];
    for (int i = 0; i < a->n; i++) {
        int place = c.first[cell[i]] + fill[cell[i]]++;
        c.atom[place] = i;
        c.position[place] = a->position[i];
    }
    free(cell);
    free(fill);
    return c;
}

/* The cells that touch cell (x, y, z) and do not come before it, itself first. */
static int cells_around(const Cells *c, int x, int y, int z, int *around)
{
    int self = (x * c->ny + y) * c->nz + z, n = 0;
    around[n++] = self;
    for (int dx = -1; dx <= 1; dx++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dz = -1; dz <= 1; dz++) {
                int other = ((x + dx + c->nx) % c->nx * c->ny + (y + dy + c->ny) % c->ny) * c->nz +
                            (z + dz + c->nz) % c->nz;
                if (other > self)
                    around[n++] = other;
            }
    return n;
}

/* Finds all pairs closer than the reach of the list, less neighbours in a molecule. The positions must be
   wrapped. */
static PairList build_pairs(const Atoms *a)
{
    double reach = CUTOFF + MARGIN, reach2 = reach * reach;
    Cells c = sort_into_cells(a, reach);
    size_t capacity = 0, n_pairs = 0;
    int *found = NULL; /* the partners of the atoms, in the order of the cells */
    size_t *begin = allocate((size_t)a->n, sizeof *begin);
    PairList list = {.start = new_ints(a->n + 1), .built_at = new_vectors(a->n)};

    for (int x = 0; x < c.nx; x++)
        for (int y = 0; y < c.ny; y++)
            for (int z = 0; z < c.nz; z++) {
                int around[27], n_around = cells_around(&c, x, y, z, around);
                for (int p = c.first[around[0]]; p < c.first[around[0] + 1]; p++) {
                    int i = c.atom[p];
                    Vec3 here = c.position[p];
                    begin[i] = n_pairs;
                    for (int k = 0; k < n_around; k++) {
                        int q = k == 0 ? p + 1 : c.first[around[k]], end = c.first[around[k] + 1];
                        found = grow(found, n_pairs + (size_t)(end - q), &capacity);
                        for (; q < end; q++) {
                            double dx = nearest(here.x - c.position[q].x, a->box.x);
                            double dy = nearest(here.y - c.position[q].y, a->box.y);
                            double dz = nearest(here.z - c.position[q].z, a->box.z);
                            double r2 = dx * dx + dy * dy + dz * dz;
                            if (r2 < reach2 && !neighbours(a, i, c.atom[q]))
                                found[n_pairs++] = c.atom[q];
                        }
                    }
                    list.start[i + 1] = (int)(n_pairs - begin[i]);
                }
            }
    if (n_pairs > INT_MAX)
        fail("pairs", "there are too many; try a smaller --scale");

    for (int i = 0; i < a->n; i++)
        list.start[i + 1] += list.start[i];
    list.neighbour = new_ints(list.start[a->n]);
    for (int i = 0; i < a->n; i++)
        if (list.start[i + 1] > list.start[i])
            memcpy(&list.neighbour[list.start[i]], &found[begin[i]],
                   (size_t)(list.start[i + 1] - list.start[i]) * sizeof *found);
    memcpy(list.built_at, a->position, (size_t)a->n * sizeof *list.built_at);
    free(found);
    free(begin);
    free(c.first);
    free(c.atom);
    free(c.position);
    return list;
}

static void free_pairs(PairList *list)
{
    free(list->start);
    free(list->neighbour);
    free(list->built_at);
}

/* Springs between close neighbours in a molecule, at rest in the configuration that was read. */
static Bonds find_bonds(const Atoms *a)
{
    Cells c = sort_into_cells(a, BOND_REACH);
    Bonds b = {0};
    for (int pass = 0; pass < 2; pass++) { /* first count, then store */
        int n = 0;
        for (int x = 0; x < c.nx; x++)
            for (int y = 0; y < c.ny; y++)
                for (int z = 0; z < c.nz; z++) {
                    int around[27], n_around = cells_around(&c, x, y, z, around);
                    for (int p = c.first[around[0]]; p < c.first[around[0] + 1]; p++)
                        for (int k = 0; k < n_around; k++)
                            for (int q = k == 0 ? p + 1 : c.first[around[k]]; q < c.first[around[k] + 1]; q++) {
                                double dx = nearest(c.position[p].x - c.position[q].x, a->box.x);
                                double dy = nearest(c.position[p].y - c.position[q].y, a->box.y);
                                double dz = nearest(c.position[p].z - c.position[q].z, a->box.z);
                                double r2 = dx * dx + dy * dy + dz * dz;
                                if (r2 >= BOND_REACH * BOND_REACH || !neighbours(a, c.atom[p], c.atom[q]))
                                    continue;
                                if (pass == 1) {
                                    b.i[n] = c.atom[p];
                                    b.j[n] = c.atom[q];
                                    b.length[n] = sqrt(r2);
                                }
                                n++;
                            }
                }
        if (pass == 0) {
            b.n = n;
            b.i = new_ints(n);
            b.j = new_ints(n);
            b.length = new_doubles(n);
        }
    }
    free(c.first);
    free(c.atom);
    free(c.position);
    return b;
}

static void free_bonds(Bonds *b)
{
    free(b->i);
    free(b->j);
    free(b->length);
}

/* ------------------------------------------------------------------------------------------------ */
/* The motion                                                                                        */

static void clear_forces(Atoms *a)
{
    for (int i = 0; i < a->n; i++) {
        a->force[i].x = 0;
        a->force[i].y = 0;
        a->force[i].z = 0;
    }
}

/* Adds the Lennard-Jones forces and returns their energy, which is shifted to be zero at the cut-off. */
static double pair_forces(Atoms *a, const PairList *list)
{
    const double cutoff2 = CUTOFF * CUTOFF, at_cutoff = 1 / (cutoff2 * cutoff2 * cutoff2);
    double energy = 0;
    for (int i = 0; i < a->n; i++) {
        Vec3 here = a->position[i], force = {0, 0, 0};
        LennardJones lj = a->lj[i];
        for (int k = list->start[i]; k < list->start[i + 1]; k++) {
            int j = list->neighbour[k];
            double dx = nearest(here.x - a->position[j].x, a->box.x);
            double dy = nearest(here.y - a->position[j].y, a->box.y);
            double dz = nearest(here.z - a->position[j].z, a->box.z);
            double r2 = dx * dx + dy * dy + dz * dz;
            if (r2 < cutoff2) {
                double c12 = lj.c12 * a->lj[j].c12, c6 = lj.c6 * a->lj[j].c6;
                double inv2 = 1 / r2, inv6 = inv2 * inv2 * inv2;
                double e12 = c12 * inv6 * inv6, e6 = c6 * inv6;
                double f = (12 * e12 - 6 * e6) * inv2;
                energy += e12 - e6 - (c12 * at_cutoff - c6) * at_cutoff;
                force.x += f * dx;
                force.y += f * dy;
                force.z += f * dz;
                a->force[j].x -= f * dx;
                a->force[j].y -= f * dy;
                a->force[j].z -= f * dz;
            }
        }
        a->force[i].x += force.x;
        a->force[i].y += force.y;
        a->force[i].z += force.z;
    }
    return energy;
}

/* Adds the forces of the springs and returns their energy. */
static double bond_forces(Atoms *a, const Bonds *b)
{
    double energy = 0;
    for (int k = 0; k < b->n; k++) {
        int i = b->i[k], j = b->j[k];
        double dx = nearest(a->position[i].x - a->position[j].x, a->box.x);
        double dy = nearest(a->position[i].y - a->position[j].y, a->box.y);
        double dz = nearest(a->position[i].z - a->position[j].z, a->box.z);
        double r = sqrt(dx * dx + dy * dy + dz * dz), stretch = r - b->length[k];
        double f = -BOND_STIFFNESS * stretch / r;
        energy += 0.5 * BOND_STIFFNESS * stretch * stretch;
        a->force[i].x += f * dx;
        a->force[i].y += f * dy;
        a->force[i].z += f * dz;
        a->force[j].x -= f * dx;
        a->force[j].y -= f * dy;
        a->force[j].z -= f * dz;
    }
    return energy;
}

static void kick(Atoms *a, double dt)
{
    for (int i = 0; i < a->n; i++) {
        double factor = dt * ACCELERATION / a->mass[i];
        a->velocity[i].x += factor * a->force[i].x;
        a->velocity[i].y += factor * a->force[i].y;
        a->velocity[i].z += factor * a->force[i].z;
    }
}

static void drift(Atoms *a, double dt)
{
    for (int i = 0; i < a->n; i++) {
        a->position[i].x += dt * a->velocity[i].x;
        a->position[i].y += dt * a->velocity[i].y;
        a->position[i].z += dt * a->velocity[i].z;
    }
}

static double kinetic_energy(const Atoms *a)
{
    double sum = 0;
    for (int i = 0; i < a->n; i++) {
        Vec3 v = a->velocity[i];
        sum += a->mass[i] * (v.x * v.x + v.y * v.y + v.z * v.z);
    }
    return 0.5 * sum / ACCELERATION;
}

/* The square of the longest way that an atom has gone since the list was built. */
static double largest_move2(const Atoms *a, const PairList *list)
{
    double largest = 0;
    for (int i = 0; i < a->n; i++) {
        double dx = a->position[i].x - list->built_at[i].x;
        double dy = a->position[i].y - list->built_at[i].y;
        double dz = a->position[i].z - list->built_at[i].z;
        double move2 = dx * dx + dy * dy + dz * dz;
        largest = move2 > largest ? move2 : largest;
    }
    return largest;
}

static double force_norm(const Atoms *a)
{
    double sum = 0;
    for (int i = 0; i < a->n; i++) {
        Vec3 f = a->force[i];
        sum += f.x * f.x + f.y * f.y + f.z * f.z;
    }
    return sqrt(sum);
}

/* ------------------------------------------------------------------------------------------------ */

static void usage(FILE *out)
{
    fputs("usage: md_forces [--scale N] [--steps N] [--every N] [--scatter | --natural] [--seed N] [FILE]\n"
          "\n"
          "  --scale N    add N copies of the box in each direction (default 2, that is 27 boxes)\n"
          "  --steps N    number of time steps (default 8)\n"
          "  --every N    print energies every N steps (default 1)\n"
          "  --scatter    number the atoms at random (default)\n"
          "  --natural    number them as in the file, box after box\n"
          "  --seed N     seed of the velocities and of the random numbering (default 1)\n"
          "  FILE         configuration (default samples/data/dhfr-water.txt or data/dhfr-water.txt)\n",
          out);
}

static void usage_error(const char *what, const char *argument)
{
    fprintf(stderr, "md_forces: %s: %s\n", argument, what);
    usage(stderr);
    exit(2);
}

static long number_argument(const char *option, const char *text, long low, long high)
{
    char *end;
    if (text == NULL)
        usage_error("needs a number", option);
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < low || value > high) {
        fprintf(stderr, "md_forces: %s takes a whole number from %ld to %ld, not '%s'\n", option, low, high, text);
        exit(2);
    }
    return value;
}

static const char *default_file(void)
{
    const char *here = "samples/data/dhfr-water.txt";
    FILE *f = fopen(here, "r");
    if (f == NULL)
        return "data/dhfr-water.txt";
    fclose(f);
    return here;
}

static Options parse_options(int argc, char **argv)
{
    Options o = {.path = NULL, .scale = 2, .steps = 8, .every = 1, .natural = 0, .seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0) {
            usage(stdout);
            exit(0);
        } else if (strcmp(arg, "--scale") == 0)
            o.scale = (int)number_argument(arg, argv[++i], 0, 100);
        else if (strcmp(arg, "--steps") == 0)
            o.steps = (int)number_argument(arg, argv[++i], 0, 1000000);
        else if (strcmp(arg, "--every") == 0)
            o.every = (int)number_argument(arg, argv[++i], 1, 1000000);
        else if (strcmp(arg, "--seed") == 0)
            o.seed = (uint64_t)number_argument(arg, argv[++i], 0, LONG_MAX);
        else if (strcmp(arg, "--scatter") == 0)
            o.natural = 0;
        else if (strcmp(arg, "--natural") == 0)
            o.natural = 1;
        else if (arg[0] == '-')
            usage_error("unknown option", arg);
        else if (o.path != NULL)
            usage_error("one file is enough", arg);
        else
            o.path = arg;
    }
    if (o.path == NULL)
        o.path = default_file();
    return o;
}

int main(int argc, char **argv)
{
    Options o = parse_options(argc, argv);
    double begin = seconds();
    Atoms a = make_atoms(&o);
    Bonds bonds = find_bonds(&a);
    PairList list = build_pairs(&a);
    printf("%d atoms, %d pairs, %d bonds\n", a.n, list.start[a.n], bonds.n);

    double start = seconds();
    int rebuilds = 0;
    double pair_energy = pair_forces(&a, &list);
    double bond_energy = bond_forces(&a, &bonds);
    for (int step = 0; step <= o.steps; step++) {
        if (step > 0) {
            kick(&a, 0.5 * TIME_STEP);
            drift(&a, TIME_STEP);
            if (largest_move2(&a, &list) > 0.25 * MARGIN * MARGIN) {
                free_pairs(&list);
                wrap(&a);
                list = build_pairs(&a);
                rebuilds++;
            }
            clear_forces(&a);
            pair_energy = pair_forces(&a, &list);
            bond_energy = bond_forces(&a, &bonds);
            kick(&a, 0.5 * TIME_STEP);
        }
        if (step % o.every == 0 || step == o.steps) {
            double kinetic = kinetic_energy(&a);
            printf("step %4d  pairs %.12e  bonds %.12e  kinetic %.12e  total %.12e\n", step, pair_energy, bond_energy,
                   kinetic, pair_energy + bond_energy + kinetic);
        }
    }
    double end = seconds();
    double norm = force_norm(&a);
    printf("norm of the forces %.12e, list rebuilt %d times\n", norm, rebuilds);
    fprintf(stderr, "set-up %.3f s, time steps %.3f s\n", start - begin, end - start);
    free_bonds(&bonds);
    free_pairs(&list);
    free_atoms(&a);
    if (!isfinite(norm))
        fail(o.path, "the motion has blown up");
    return 0;
}
