/* Inputs that differ from the traced one in one respect, made and undone in one process.

   A program lists its arrays and lengths, and its kernels. Input 0 is the traced one; every other input is changed
   anew: one element, a block that was prepared to fool hash functions, a swap, a length, a pointer. What a kernel
   leaves is printed as sums, exact where all numbers are whole. Each input is one that the program may be run with. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX, STARTS, NUMBERS, WHOLE, FLAGS }; /* ints below a bound; ascending ints; doubles; longs; 8-byte flags */
enum { ELEMENT, SWAP, ROTATE, BLOCK, LENGTH, INTERIOR, ALIAS, COPY, FORGED, CHANGES };
static const char *const change_names[] = {"element", "swap", "rotate", "block", "length", "interior", "alias", "copy",
                                           "forged"};

typedef struct {
    void **pointer;  /* the program's own */
    char *room, *kept, *other; /* where the array lies, what it holds in the traced input, and a second place for it */
    long count, step, offset, below; /* elements; bytes from one to the next; of a field of a record; bound */
    int kind, kernel;
} Array;

typedef struct { int *length; long most; int kept, kernel; } Length;

static Array arrays[64];
static Length lengths[16];
static int n_arrays, n_lengths;
static uint64_t state_of_changes = 88172645463325252u;

static uint64_t any(void)
{
    state_of_changes ^= state_of_changes << 13;
    state_of_changes ^= state_of_changes >> 7;
    return state_of_changes ^= state_of_changes << 17;
}
static long below(long bound) { return bound > 0 ? (long)(any() % (uint64_t)bound) : 0; }

static long width_of(const Array *a) { return a->kind == INDEX || a->kind == STARTS ? 4 : 8; }
static char *element(const Array *a, long i) { return (char *)*a->pointer + i * a->step + a->offset; }

/* An array of a kernel. One element more than `count` is there, so that a pointer may be moved by one. */
static void *list(void **pointer, int kernel, int kind, long count, long bound)
{
    Array *a = &arrays[n_arrays++];
    *a = (Array){pointer, NULL, NULL, NULL, count, 0, 0, bound, kind, kernel};
    a->step = width_of(a);
    a->room = calloc((size_t)count + 1, (size_t)a->step);
    *pointer = a->room;
    for (long i = 0; i <= count; i++) {
        int whole = kind == STARTS ? (int)(i * bound / (count > 1 ? count - 1 : 1)) : (int)below(bound);
        double number = 0.5 + (double)below(4096) / 4096;
        long word = kind == FLAGS ? below(2) : below(1000);
        if (kind == STARTS && i >= count - 1)
            whole = (int)bound;
        memcpy(element(a, i), kind == NUMBERS ? (void *)&number : kind >= WHOLE ? (void *)&word : (void *)&whole,
               (size_t)width_of(a));
    }
    return a->room;
}

/* A field of the records of another array, which was listed before. */
static void list_field(void **pointer, int kernel, int kind, long count, long bound, long step, long offset)
{
    arrays[n_arrays++] = (Array){pointer, NULL, NULL, NULL, count, step, offset, bound, kind, kernel};
    Array *a = &arrays[n_arrays - 1];
    for (long i = 0; i <= count; i++) {
        int whole = (int)below(bound);
        double number = 0.5 + (double)below(4096) / 4096;
        memcpy(element(a, i), kind == NUMBERS ? (void *)&number : (void *)&whole, (size_t)width_of(a));
    }
}

static void list_length(int *length, int kernel, long most)
{
    lengths[n_lengths++] = (Length){length, most, *length, kernel};
}

static size_t bytes_of(const Array *a) { return ((size_t)a->count + 1) * (size_t)a->step; }

static void keep(void)
{
    for (int i = 0; i < n_arrays; i++)
        if (arrays[i].room) {
            arrays[i].kept = malloc(bytes_of(&arrays[i]));
            arrays[i].other = malloc(bytes_of(&arrays[i]));
            memcpy(arrays[i].kept, arrays[i].room, bytes_of(&arrays[i]));
        }
}

static void undo(void)
{
    for (int i = 0; i < n_arrays; i++)
        if (arrays[i].room) {
            *arrays[i].pointer = arrays[i].room;
            memcpy(arrays[i].room, arrays[i].kept, bytes_of(&arrays[i]));
        }
    for (int i = 0; i < n_lengths; i++)
        *lengths[i].length = lengths[i].kept;
}

static Array *pick(int kernel)
{
    for (;;) {
        Array *a = &arrays[below(n_arrays)];
        if (a->kernel == kernel)
            return a;
    }
}

/* Another value for one element, near or anywhere. */
static void set_element(const Array *a, long i)
{
    int whole;
    long word;
    double number;
    memcpy(&whole, element(a, i), 4);
    memcpy(&word, element(a, i), width_of(a) == 8 ? 8 : 4);
    memcpy(&number, &word, 8);
    switch (a->kind) {
    case INDEX:
        whole = below(3) ? (int)((whole + (below(2) ? 1 : a->below - 1)) % a->below) : (int)below(a->below);
        memcpy(element(a, i), &whole, 4);
        return;
    case STARTS: {
        int low = 0, high = (int)a->below;
        if (i > 0)
            memcpy(&low, element(a, i - 1), 4);
        if (i + 1 < a->count)
            memcpy(&high, element(a, i + 1), 4);
        whole = low + (int)below(high - low + 1);
        memcpy(element(a, i), &whole, 4);
        return;
    }
    case NUMBERS:
        number = below(2) ? number + 0.25 : 0.5 + (double)below(4096) / 4096;
        memcpy(element(a, i), &number, 8);
        return;
    case WHOLE:
        word = below(2) ? word + 1 : below(1000);
        break;
    default:
        word = below(2) ? !word : below(2) ? (long)any() : (long)(1ull << below(64));
    }
    memcpy(element(a, i), &word, 8);
}

/* Blocks of words that cancel the public constants of known hash functions. */
static void forge(const Array *a)
{
    static const uint64_t magic[] = {0xAEF17502108EF2D9, 0x8BB84B93962EACC9, 0x4D5A2DA51DE1AA47, 0x4B33A62ED433D4A3,
                                     0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3,
                                     0x2D358DCCAA6C78A5, 0x9E3779B97F4A7C15, 0,                  ~0ull};
    long at = 4 * below(a->count / 4 - 1), length = 4 * (1 + below(a->count / 4 - at / 4));
    uint64_t block[4] = {magic[0], magic[1], magic[2], magic[3]};
    if (below(2))
        for (int i = 0; i < 4; i++)
            block[i] = magic[below(12)];
    for (long i = at; i < at + length && i < a->count; i++)
        memcpy(element(a, i), &block[i & 3], 8);
    for (long i = 0; i < 3 && at > 0; i++) /* what stands before the block differs */
        set_element(a, below(at));
}

/* Change the input of a kernel; which way it was, or -1 when that way there is none. */
static int change(int kernel)
{
    int way = (int)below(CHANGES);
    Array *a = pick(kernel), *b = pick(kernel);
    long i = below(a->count), j = below(a->count), width = width_of(a);
    char piece[64 * 8];
    switch (way) {
    case ELEMENT:
        set_element(a, i);
        return way;
    case SWAP:
    case ROTATE:
        if (a->kind == STARTS)
            return -1;
        if (way == SWAP) {
            memcpy(piece, element(a, i), (size_t)width);
            memcpy(element(a, i), element(a, j), (size_t)width);
            memcpy(element(a, j), piece, (size_t)width);
            return way;
        }
        memcpy(piece, element(a, 0), (size_t)width);
        for (long k = 0; k + 1 < a->count; k++)
            memcpy(element(a, k), element(a, k + 1), (size_t)width);
        memcpy(element(a, a->count - 1), piece, (size_t)width);
        return way;
    case BLOCK: { /* two blocks change places */
        long length = 1l << below(6);
        if (a->kind == STARTS || a->step != width || a->count < 4 * length)
            return -1;
        i = length * below(a->count / length / 2), j = length * (a->count / length / 2 + below(a->count / length / 2));
        memcpy(piece, element(a, i), (size_t)(length * width));
        memmove(element(a, i), element(a, j), (size_t)(length * width));
        memcpy(element(a, j), piece, (size_t)(length * width));
        return way;
    }
    case LENGTH: {
        Length *l = &lengths[below(n_lengths)];
        if (l->kernel != kernel)
            return -1;
        *l->length = below(2) ? l->kept - (int)below(3) : (int)below(l->most + 1);
        return way;
    }
    case INTERIOR:
        if (!a->room || a->kind == STARTS)
            return -1;
        *a->pointer = a->room + a->step;
        return way;
    case ALIAS:
        if (!a->room || !b->room || a == b || a->kind != b->kind || a->step != b->step || a->count > b->count ||
            b->below > a->below || a->kind == STARTS)
            return -1;
        *a->pointer = b->room;
        return way;
    case COPY: /* the same elsewhere, or with a change */
        if (!a->room)
            return -1;
        memcpy(a->other, a->room, bytes_of(a));
        *a->pointer = a->other;
        if (below(2))
            set_element(a, i);
        return way;
    case FORGED:
        if (a->kind != FLAGS)
            return -1;
        forge(a);
        return way;
    }
    return -1;
}

/* Sums of all that a kernel can have written, each element with a weight of its own. */
static void tell(long input, int kernel, const char *how)
{
    printf("%ld %d %s", input, kernel, how);
    for (int k = 0; k < n_arrays; k++) {
        const Array *a = &arrays[k];
        uint64_t whole = 0;
        double sum = 0;
        long lost = 0;
        if (a->kernel != kernel || (a->kind != NUMBERS && a->kind != WHOLE))
            continue;
        for (long i = 0; i < a->count; i++) {
            uint64_t word;
            double number;
            memcpy(&word, element(a, i), 8);
            memcpy(&number, &word, 8);
            whole = whole * 31 + word;
            if (number - number == 0) /* what is no number any more is counted */
                sum += number * (1 + (double)(i * 7919 % 1009) / 1009);
            else
                lost++;
        }
        if (a->kind == WHOLE)
            printf(" %016lx", (unsigned long)whole);
        else
            printf(" %.15e/%ld", sum, lost);
    }
    putchar('\n');
}

/* argv: how many inputs. Kernel k is run by call(k). */
static int run_changed(int argc, char **argv, int kernels, void (*call)(int))
{
    long inputs = argc > 1 ? atol(argv[1]) : 0;
    void (*volatile chosen)(int) = call; /* so that each loop stands in the program once */
    call = chosen;
    keep();
    for (int kernel = 0; kernel < kernels; kernel++) {
        call(kernel);
        tell(0, kernel, "same");
        undo();
    }
    for (long input = 1; input <= inputs; input++) {
        int kernel = (int)below(kernels), way = -1;
        while (way < 0)
            way = change(kernel);
        int second = below(8) ? -1 : change(kernel); /* now and then two changes at once */
        call(kernel);
        tell(input, kernel, change_names[way]);
        (void)second;
        undo();
    }
    return 0;
}
