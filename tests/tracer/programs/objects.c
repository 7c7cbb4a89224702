/* Every way to come by memory. Prints what it has, so that the table of the tracer can be compared with it. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 30
static double fixed[40];
long common[25];
extern char **environ;
static void say(const char *name, const void *p, size_t size) { printf("%s %ld %zu\n", name, (long)p, size); }
static void *(*take)(size_t) = malloc; // by a pointer

__attribute__((noinline)) static void use(long *out, const int *index, const double *heap, const char *text, const char *line)
{
    long local[50];
    for (int i = 0; i < 50; i++)
        local[i] = i * i;
    say("local", local, sizeof local);
    for (int i = 0; i < N; i++) // @loop
        out[i] = local[index[i]] + (long)heap[index[i]] + (long)fixed[index[i]] + common[index[i] % 25] + text[i % 4] + line[i];
}

int main(void)
{
    double *heap = malloc(sizeof *heap * 60);
    int *index = calloc(N, sizeof *index);
    char *grown = malloc(16), *kept = malloc(5000), *gone = malloc(700);
    grown = realloc(grown, 4000);
    kept = realloc(kept, 300);
    double *many = reallocarray(NULL, 11, sizeof *many);
    void *aligned = aligned_alloc(64, 640), *other = NULL, *paged = valloc(100), *old = memalign(128, 77);
    if (posix_memalign(&other, 256, 1234) || !grown || !kept || !many || !aligned || !paged || !old)
        return 3;
    void *pointed = take(55);
    char *text = strdup("abcdefg");
    say("gone", gone, 0);
    free(gone);

    /* The library lets go of our memory, and gives it out again. */
    size_t room = 24;
    char *row[200], *line = NULL;
    for (int i = 0; i < 200; i++) {
        row[i] = malloc(24);
        if (i > 0 && row[i] == row[i - 1] + 32) // it can not grow where it is
            line = row[i - 1];
    }
    char *first = line;
    if (!line || getline(&line, &room, stdin) < 40)
        return 4;
    char *next = malloc(20);
    for (int i = 0; i < 1000 && next != first; i++)
        next = malloc(20);
    say(next == first ? "again" : "elsewhere", next, 20);
    long *out = malloc(sizeof *out * N);

    say("heap", heap, 480); say("index", index, 120); say("grown", grown, 4000); say("kept", kept, 300);
    say("many", many, 88); say("aligned", aligned, 640); say("posix", other, 1234); say("paged", paged, 100);
    say("old", old, 77); say("pointed", pointed, 55); say("fixed", fixed, sizeof fixed); say("common", common, sizeof common);
    say("out", out, 240); say("text", text, 0); say("line", line, 0);
    for (int i = 0; i < N; i++)
        index[i] = (i * 7) % 30;
    use(out, index, heap, text, line);
    fprintf(stderr, "done\n");
    return out[3] == 0;
}
