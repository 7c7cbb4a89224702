/* The table of allocations: every block of memory that the program got and has not given back.
 *
 * Open addressing, one spin lock. The program's calls come here instead of to the C library, by names with `tc_` in
 * front; they do what the C library does, and leave errno as it leaves it.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { uintptr_t base; size_t size; } Entry;

static Entry *table;
static size_t capacity, used, live;
static atomic_flag table_lock = ATOMIC_FLAG_INIT;
#define GONE ((uintptr_t)1)

static void lock_table(void) {
    while (atomic_flag_test_and_set_explicit(&table_lock, memory_order_acquire))
        sched_yield();
}
static void unlock_table(void) { atomic_flag_clear_explicit(&table_lock, memory_order_release); }

static size_t slot_of(uintptr_t base) {
    return (size_t)((base >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (capacity - 1);
}

static void put(uintptr_t base, size_t size) {
    size_t slot = slot_of(base);
    while (table[slot].base > GONE) slot = (slot + 1) & (capacity - 1);
    if (table[slot].base == 0) used++;
    table[slot].base = base;
    table[slot].size = size;
    live++;
}

static int grow(void) {
    int error = errno;
    size_t old_capacity = capacity;
    Entry *old = table;
    size_t wanted = 1024;
    while (wanted < live * 4) wanted *= 2;
    Entry *fresh = calloc(wanted, sizeof *fresh);
    errno = error; /* the program asked for memory, and got it */
    if (!fresh) return 0;
    table = fresh;
    capacity = wanted;
    used = live = 0;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].base > GONE) put(old[i].base, old[i].size);
    free(old);
    return 1;
}

static void drop(uintptr_t base) {
    if (!capacity) return;
    size_t slot = slot_of(base);
    while (table[slot].base) {
        if (table[slot].base == base) {
            table[slot].base = GONE;
            live--;
            break;
        }
        slot = (slot + 1) & (capacity - 1);
    }
}

/* An allocation that can not be remembered is only one that will be refused later: never an error.
   What was at this address is gone, though its end was not seen: getline frees the buffer that it is given. */
static void remember(void *pointer, size_t size) {
    if (!pointer) return;
    lock_table();
    drop((uintptr_t)pointer);
    if (used * 2 < capacity || grow()) put((uintptr_t)pointer, size);
    unlock_table();
}

static void forget(void *pointer) {
    if (!pointer) return;
    lock_table();
    drop((uintptr_t)pointer);
    unlock_table();
}

void *tc_malloc(size_t size) {
    void *p = malloc(size);
    remember(p, size);
    return p;
}
void *tc_calloc(size_t count, size_t size) {
    void *p = calloc(count, size);
    remember(p, count * size);
    return p;
}
void *tc_realloc(void *old, size_t size) {
    forget(old);
    void *p = realloc(old, size);
    if (p) remember(p, size);
    else if (old && size) remember(old, 0); /* still alive; its size is no longer known */
    return p;
}
void *tc_reallocarray(void *old, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return tc_realloc(old, bytes);
}
void tc_free(void *p) {
    forget(p);
    free(p);
}
void *tc_aligned_alloc(size_t align, size_t size) {
    void *p = aligned_alloc(align, size);
    remember(p, size);
    return p;
}
int tc_posix_memalign(void **out, size_t align, size_t size) {
    int code = posix_memalign(out, align, size);
    if (!code) remember(*out, size);
    return code;
}
void *tc_memalign(size_t align, size_t size) {
    void *p = memalign(align, size);
    remember(p, size);
    return p;
}
void *tc_valloc(size_t size) {
    void *p = valloc(size);
    remember(p, size);
    return p;
}

/* Operators of C++, by their names in the binary. They are the program's own or the C++ library's; a C program, which
   has neither, never calls these. An exception that they throw passes through. */
#define NEW(NAME, PARAMETERS, ARGUMENTS)                                                                          \
    extern __attribute__((weak)) void *NAME PARAMETERS;                                                           \
    void *tc_##NAME PARAMETERS {                                                                                  \
        void *p = NAME ARGUMENTS;                                                                                 \
        remember(p, size);                                                                                        \
        return p;                                                                                                 \
    }
#define DELETE(NAME, PARAMETERS, ARGUMENTS)                                                                       \
    extern __attribute__((weak)) void NAME PARAMETERS;                                                            \
    void tc_##NAME PARAMETERS {                                                                                   \
        forget(p);                                                                                                \
        NAME ARGUMENTS;                                                                                           \
    }
NEW(_Znwm, (size_t size), (size))
NEW(_Znam, (size_t size), (size))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (size, align, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (size, align, tag))
DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))

/* Copies at most `room` entries; returns how many there are. */
size_t tc_objects(uintptr_t *bases, size_t *sizes, size_t room) {
    size_t count = 0;
    lock_table();
    for (size_t i = 0; i < capacity; i++)
        if (table[i].base > GONE) {
            if (count < room) {
                bases[count] = table[i].base;
                sizes[count] = table[i].size;
            }
            count++;
        }
    unlock_table();
    return count;
}

/* Whether bytes [base, base + size) have one in common with an entry. */
static int meets(const Entry *entry, uintptr_t base, size_t size) {
    return entry->base > GONE && entry->size && entry->base < base + size && base < entry->base + entry->size;
}

/* Which object each address lies in: of the table, or of `others`, which are further ones. It has no bytes where there
   is none, or where what holds it has a byte in common with another object: one of the two is gone then, and it is not
   known which. */
void tc_find(const uint64_t *addresses, size_t count, const Entry *others, size_t more, Entry *found) {
    lock_table();
    for (size_t a = 0; a < count; a++) found[a] = (Entry){0, 0};
    for (size_t i = 0; i < capacity + more; i++) {
        const Entry *entry = i < capacity ? &table[i] : &others[i - capacity];
        for (size_t a = 0; a < count; a++)
            if (meets(entry, (uintptr_t)addresses[a], 1)) found[a] = *entry;
    }
    for (size_t a = 0; a < count; a++) {
        size_t sharing = 0;
        for (size_t i = 0; found[a].size && i < capacity + more; i++)
            sharing += meets(i < capacity ? &table[i] : &others[i - capacity], found[a].base, found[a].size);
        if (sharing != 1) found[a] = (Entry){0, 0};
    }
    unlock_table();
}
