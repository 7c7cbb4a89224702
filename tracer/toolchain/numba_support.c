/* A program around a kernel of Numba: `main`, and the part of Numba's run time that counts references to memory.
 *
 * The only argument is a file: room for the result, one slot for each leaf of the kernel's arguments, and the memory
 * of its arrays. It is mapped, the kernel works on it, and finds its results there who reads the file afterwards.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Numba's calls of these have no line of source, which may not be so where a function with lines could be inlined. */
#define PLAIN __attribute__((nodebug))

typedef void (*Destructor)(void *, size_t, void *);
typedef struct { size_t references; Destructor destroy; void *context, *data; size_t size; void *allocator; } MemInfo;

PLAIN void *NRT_Allocate(size_t size) { return malloc(size); }
PLAIN void *NRT_Reallocate(void *memory, size_t size) { return realloc(memory, size); }
PLAIN void NRT_Free(void *memory) { free(memory); }

PLAIN MemInfo *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) {
    MemInfo *info = malloc(sizeof *info + size + align);
    if (!info) return NULL;
    uintptr_t data = (uintptr_t)(info + 1);
    if (align) data = (data + align - 1) / align * align;
    *info = (MemInfo){1, NULL, NULL, (void *)data, size, NULL};
    return info;
}
PLAIN MemInfo *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }
PLAIN MemInfo *NRT_MemInfo_alloc_safe(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }
PLAIN MemInfo *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) { return NRT_MemInfo_alloc_aligned(size, align); }
PLAIN MemInfo *NRT_MemInfo_alloc_dtor(size_t size, Destructor destroy) {
    MemInfo *info = NRT_MemInfo_alloc_aligned(size, 16);
    if (info) info->destroy = destroy;
    return info;
}

/* Memory that can grow is a block of its own. */
PLAIN static void free_data(void *data, size_t size, void *context) {
    (void)size, (void)context;
    free(data);
}
PLAIN MemInfo *NRT_MemInfo_new_varsize(size_t size) {
    MemInfo *info = malloc(sizeof *info);
    void *data = malloc(size);
    if (!info || !data) return NULL;
    *info = (MemInfo){1, free_data, NULL, data, size, NULL};
    return info;
}
PLAIN MemInfo *NRT_MemInfo_new_varsize_dtor(size_t size, Destructor destroy) {
    MemInfo *info = NRT_MemInfo_new_varsize(size);
    if (info) info->context = *(void **)&destroy;
    return info;
}
PLAIN void *NRT_MemInfo_varsize_realloc(MemInfo *info, size_t size) {
    void *data = realloc(info->data, size);
    if (data) info->data = data, info->size = size;
    return data;
}
PLAIN void *NRT_MemInfo_varsize_alloc(MemInfo *info, size_t size) {
    info->data = malloc(size);
    if (info->data) info->size = size;
    return info->data;
}
PLAIN void NRT_MemInfo_varsize_free(MemInfo *info, void *data) {
    free(data);
    if (info->data == data) info->data = NULL;
}
PLAIN void NRT_MemInfo_call_dtor(MemInfo *info) {
    if (info->destroy) info->destroy(info->data, info->size, info->context);
    free(info);
}
PLAIN void NRT_incref(MemInfo *info) {
    if (info) info->references++;
}
PLAIN void NRT_decref(MemInfo *info) {
    if (info && --info->references == 0) NRT_MemInfo_call_dtor(info);
}

/* A function of Python or of Numba's run time, neither of which is here. */
#define MISSING(NAME)                                                                                             \
    __attribute__((nodebug, noinline, noreturn)) void NAME(void) {                                                \
        fputs("the function needs " #NAME " of Python or Numba, which a traced program does not have\n", stderr); \
        exit(3);                                                                                                  \
    }

static void *pointer(char *memory, size_t slot) {
    int64_t offset = *(int64_t *)(memory + slot);
    return offset < 0 ? NULL : memory + offset;
}

static int32_t call(char *memory);

int main(int count, char **words) {
    struct stat about;
    int file = count == 2 ? open(words[1], O_RDWR) : -1;
    if (file < 0 || fstat(file, &about)) return fputs("the arguments can not be read\n", stderr), 2;
    char *memory = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return fputs("the arguments can not be mapped\n", stderr), 2;
    int32_t status = call(memory);
    if (status == 0 || status == -2) return 0; /* −2: it returned None */
    fputs("the function raised an exception\n", stderr);
    return 1;
}
