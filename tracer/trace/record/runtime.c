// Run-time side of the stream of records: chunks in memory that is shared with the reading process.
//
// The file has a control page and two queues, then chunks. Chunk k begins at `data + k * 2 * CHUNK` and is full when
// the write position has passed CHUNK bytes; the room behind takes what is written before that is noticed. A chunk
// that nobody wrote to is all zero, so that its end is the first zero word where a record should begin, also when the
// process has been killed. `shared_chunks.py` is the other side.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef TC_CHUNK_BITS
#error "TC_CHUNK_BITS is needed"
#endif
#define CHUNK ((uint64_t)1 << TC_CHUNK_BITS)
#define MAGIC 0x74636531u
#define LEVELS 8 // a program stream and signal handlers inside of each other
#define TORN 1u  // flag of an entry: its last record may be incomplete

struct entry {
  _Atomic uint32_t ready; // number of the entry + 1, low word
  uint32_t slot, stream, bytes, flags;
};

struct control {
  uint32_t magic, chunk_bits, slots, most_slots, queue; // queue: entries of each queue, a power of two
  _Atomic uint32_t made;                                // slots in use so far; grows with the number of threads
  _Atomic uint32_t streams, forks, threads;
  _Atomic uint64_t filled;  // entries given to the reader
  _Atomic uint64_t taken;   // free slots taken by writers
  _Atomic uint64_t given;   // free slots given by the reader
  _Atomic uint64_t waited;  // nanoseconds that writers waited for a free slot
  _Atomic uint32_t started; // 1 once the program runs
};

struct stream {
  char *cursor, *start;
  uint32_t slot, number;
};

struct thread {
  struct stream levels[LEVELS];
  char *handler_frame[LEVELS]; // where the handler of each level runs
  uint32_t level, number;
  char known, watched;   // it has a number, its end is noticed
  uint32_t inside;       // chosen loops that it is in
  char passing;          // it is in one, but this iteration is not recorded
  uint64_t iterations;   // of the outermost of them
  char *region_frame;    // where that loop runs
};

extern __thread char *tc_cursor __attribute__((tls_model(TC_TLS_MODEL)));
extern const struct { void *address; uint64_t size; } tce_globals[];
extern const uint64_t tce_global_count;
extern const uint64_t tce_selects; // whether only chosen loops are recorded

static __thread struct thread self __attribute__((tls_model(TC_TLS_MODEL)));
static struct control *ring;
static struct entry *entries;    // [queue]
static _Atomic uint32_t *vacant; // [queue] slot + 1
static _Atomic uint32_t *owner;  // [most_slots] stream + 1 that writes to a slot
static char *data, *scrap;
static char off; // nothing is recorded: a forked child
static pthread_key_t at_thread_end;

static char *scrap_chunk(void) {
  if (!scrap) {
    char *room = mmap(0, 4 * CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) _exit(127);
    scrap = (char *)(((uintptr_t)room + 2 * CHUNK - 1) & ~(2 * CHUNK - 1));
  }
  return scrap;
}

static void submit(struct stream *stream, uint32_t flags) {
  if (!stream->start) return;
  uint64_t place = atomic_fetch_add_explicit(&ring->filled, 1, memory_order_relaxed);
  struct entry *entry = &entries[place & (ring->queue - 1)];
  entry->slot = stream->slot;
  entry->stream = stream->number;
  entry->bytes = (uint32_t)(stream->cursor - stream->start);
  entry->flags = flags;
  atomic_store_explicit(&owner[stream->slot], 0, memory_order_relaxed);
  atomic_store_explicit(&entry->ready, (uint32_t)place + 1, memory_order_release);
  stream->start = 0;
}

static int take_vacant(uint32_t *slot) {
  uint64_t place = atomic_load_explicit(&ring->taken, memory_order_acquire);
  while (place < atomic_load_explicit(&ring->given, memory_order_acquire)) {
    uint32_t found = atomic_load_explicit(&vacant[place & (ring->queue - 1)], memory_order_relaxed);
    if (atomic_compare_exchange_weak_explicit(&ring->taken, &place, place + 1, memory_order_acq_rel,
                                              memory_order_acquire)) {
      *slot = found;
      return 1;
    }
  }
  return 0;
}

static int make_slot(uint32_t *slot, uint32_t most) {
  uint32_t made = atomic_load_explicit(&ring->made, memory_order_relaxed);
  while (made < most)
    if (atomic_compare_exchange_weak_explicit(&ring->made, &made, made + 1, memory_order_relaxed,
                                              memory_order_relaxed)) {
      *slot = made;
      return 1;
    }
  return 0;
}

// `fresh`: the stream is new. Chunks may all be held by streams that do not move, so it never waits for one.
static uint32_t take_slot(int fresh) {
  uint32_t slot;
  if (take_vacant(&slot) || make_slot(&slot, ring->slots)) return slot; // used ones first: they are in the cache
  if (fresh && make_slot(&slot, ring->most_slots)) return slot;
  struct timespec start, end, nap = {0, 20000};
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (!take_vacant(&slot)) clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, 0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  atomic_fetch_add_explicit(&ring->waited,
                            (uint64_t)(end.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)end.tv_nsec -
                                (uint64_t)start.tv_nsec,
                            memory_order_relaxed);
  return slot;
}

static void put(char **cursor, uint32_t word) {
  memcpy(*cursor, &word, 4);
  *cursor += 4;
}

static void put_wide(char **cursor, uint64_t value) {
  memcpy(*cursor, &value, 8);
  *cursor += 8;
}

static void list_globals(struct stream *stream);

static void open_stream(struct stream *stream, uint32_t level) {
  if (!self.watched) {
    if (!self.known) self.number = atomic_fetch_add_explicit(&ring->threads, 1, memory_order_relaxed);
    self.known = self.watched = 1;
    pthread_setspecific(at_thread_end, &self);
  }
  int first = stream->number == 0;
  if (first) stream->number = atomic_fetch_add_explicit(&ring->streams, 1, memory_order_relaxed) + 1;
  stream->slot = take_slot(first);
  stream->cursor = stream->start = data + (uint64_t)stream->slot * 2 * CHUNK;
  atomic_store_explicit(&owner[stream->slot], stream->number, memory_order_release);
  if (first) {
    put(&stream->cursor, 0xFFFFFFFBu);
    put(&stream->cursor, self.number);
    put(&stream->cursor, level);
    if (self.number == 0 && level == 0) list_globals(stream);
  }
}

static void turn(struct stream *stream, uint32_t level) {
  submit(stream, 0);
  open_stream(stream, level);
}

static void list_globals(struct stream *stream) {
  for (uint64_t place = 0; place < tce_global_count; place++) {
    if (stream->cursor - stream->start >= (ptrdiff_t)CHUNK) turn(stream, 0);
    put(&stream->cursor, 0xFFFFFFFAu);
    put(&stream->cursor, (uint32_t)place);
    put_wide(&stream->cursor, (uint64_t)(uintptr_t)tce_globals[place].address);
    put_wide(&stream->cursor, tce_globals[place].size);
  }
}

static int silent(void) { return tce_selects && (!self.inside || self.passing); }

static char *flush(char *cursor) {
  int saved = errno;
  if (off || !ring) return scrap_chunk(); // or the libraries begin, with an allocator of the program
  uint32_t level = self.level;
  struct stream *stream = &self.levels[level];
  if (silent()) {
    if (!stream->number) open_stream(stream, level);
    errno = saved;
    return scrap_chunk();
  }
  stream->cursor = cursor;
  turn(stream, level);
  errno = saved;
  return stream->cursor;
}

__attribute__((preserve_most, noinline)) char *tce_flush(char *cursor) { return flush(cursor); }

uint64_t tce_string(const char *text) { return text ? strlen(text) + 1 : 0; }

uint64_t tce_string_up_to(const char *text, int64_t most) {
  if (!text || most == 0) return 0;
  if (most < 0) return strlen(text) + 1; // a negative precision is none
  uint64_t length = strnlen(text, (size_t)most);
  return length < (uint64_t)most ? length + 1 : length;
}

static void resume(void) {
  struct stream *stream = &self.levels[self.level];
  if (!stream->start) open_stream(stream, self.level);
  if (stream->cursor - stream->start >= (ptrdiff_t)CHUNK) turn(stream, self.level);
  put(&stream->cursor, 0xFFFFFFFCu);
  tc_cursor = stream->cursor;
}

static void rest(void) {
  struct stream *stream = &self.levels[self.level];
  stream->cursor = tc_cursor;
  if (stream->start) put(&stream->cursor, 0xFFFFFFFDu);
  tc_cursor = scrap_chunk();
}

// The program enters a chosen loop, in this frame. Its write position is in `tc_cursor` during these calls.
void tce_enter(char *frame) {
  if (off) return;
  int saved = errno;
  if (self.inside++ == 0) {
    self.iterations = self.passing = 0;
    self.region_frame = frame;
    resume();
  }
  errno = saved;
}

void tce_leave(void) {
  if (off || !self.inside) return;
  int saved = errno;
  if (self.inside == 1 && !self.passing) rest();
  if (--self.inside == 0) self.passing = 0;
  errno = saved;
}

// An iteration of the chosen loop begins; the first of `every` is recorded.
void tce_iteration(int64_t every) {
  if (off || self.inside != 1) return;
  int saved = errno;
  char passing = self.iterations++ % (uint64_t)every != 0;
  if (passing && !self.passing) rest();
  char before = self.passing;
  self.passing = passing;
  if (!passing && before) resume();
  errno = saved;
}

// A call such as setjmp has returned in this frame. When it left signal handlers for good, their streams rest, and
// the program's goes on in a new chunk: where its old one ends was in a register of the code that was interrupted.
void tce_returned(char *frame) {
  if (!off && self.inside && self.region_frame < frame) { // out of a chosen loop that ran in a frame that is gone
    if (!self.passing) rest();
    self.inside = self.passing = 0;
  }
  if (off || self.level == 0) return;
  uint32_t level = self.level;
  while (level > 0 && self.handler_frame[level] < frame) level--;
  if (level == self.level) return;
  self.levels[self.level].cursor = tc_cursor;
  self.level = level;
  struct stream *stream = &self.levels[level];
  stream->cursor = stream->start ? stream->start + 2 * CHUNK : 0;
  submit(stream, TORN);
  tc_cursor = (char *)CHUNK;
}

// What a library function has written after it called the program back.
static void wrote(const void *address, uint64_t bytes) {
  struct stream *stream = &self.levels[self.level];
  if (off || !ring || silent() || !stream->start) return;
  int saved = errno;
  stream->cursor = tc_cursor;
  if (stream->cursor - stream->start >= (ptrdiff_t)CHUNK) turn(stream, self.level);
  put(&stream->cursor, 0xFFFFFFF9u);
  put_wide(&stream->cursor, (uint64_t)(uintptr_t)address);
  put_wide(&stream->cursor, bytes);
  tc_cursor = stream->cursor;
  errno = saved;
}

typedef int (*compare)(const void *, const void *);
typedef int (*compare_with)(const void *, const void *, void *);
extern void *tsearch(const void *, void **, compare); // <search.h> has another `struct entry`
extern void *lsearch(const void *, void *, size_t *, size_t, compare);

struct sorting {
  compare plain;
  compare_with with;
  void *argument;
};

static int compared(const void *a, const void *b, void *state) {
  struct sorting *sorting = state;
  return sorting->with ? sorting->with(a, b, sorting->argument) : sorting->plain(a, b);
}

static int compared_behind(const void *a, const void *b, void *state) {
  return compared(*(const void *const *)a, *(const void *const *)b, state);
}

// Sort by pointers, as the C library does with large elements: it compares the same elements in the same order, and what
// the program sees of them lies where the program has stored it until all comparisons are done.
static void sort(char *base, size_t count, size_t size, struct sorting *sorting) {
  uint64_t most = (uint64_t)1 << 30, room = 0; // beyond a share of the memory the library sorts in another way
  if (count > 1 && size && count <= most / 8 && size <= most / count) room = count * sizeof(void *) + count * size;
  char **places = MAP_FAILED;
  if (room) places = mmap(0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (places == MAP_FAILED) {
    qsort_r(base, count, size, compared, sorting);
  } else {
    char *sorted = (char *)(places + count);
    for (size_t place = 0; place < count; place++) places[place] = base + place * size;
    qsort_r(places, count, sizeof(void *), compared_behind, sorting);
    for (size_t place = 0; place < count; place++) memcpy(sorted + place * size, places[place], size);
    memcpy(base, sorted, count * size);
    munmap(places, room);
  }
  wrote(base, (uint64_t)count * size);
}

void tce_qsort(void *base, size_t count, size_t size, compare order) {
  struct sorting sorting = {.plain = order};
  sort(base, count, size, &sorting);
}

void tce_qsort_r(void *base, size_t count, size_t size, compare_with order, void *argument) {
  struct sorting sorting = {.with = order, .argument = argument};
  sort(base, count, size, &sorting);
}

// The node that is found begins with the key, which the function stored there if it is this one.
void *tce_tsearch(const void *key, void **root, compare order) {
  void *node = tsearch(key, root, order);
  if (node && *(const void **)node == key) wrote(node, sizeof(void *));
  return node;
}

void *tce_lsearch(const void *key, void *base, size_t *count, size_t size, compare order) {
  size_t before = *count;
  void *found = lsearch(key, base, count, size, order);
  if (*count != before) wrote(found, size);
  return found;
}

static struct sigaction handlers[65];
static char installed[65];

static void dispatch(int number, siginfo_t *info, void *context) {
  void (*call)(int, siginfo_t *, void *) = handlers[number].sa_sigaction;
  if (off || silent() || self.level + 1 >= LEVELS) {
    char *before = tc_cursor;
    tc_cursor = off ? before : scrap_chunk();
    call(number, info, context);
    tc_cursor = before;
    return;
  }
  char *before = tc_cursor;
  uint32_t level = ++self.level;
  self.handler_frame[level] = __builtin_frame_address(0);
  tc_cursor = self.levels[level].start ? self.levels[level].cursor : (char *)CHUNK;
  call(number, info, context);
  self.levels[level].cursor = tc_cursor;
  self.level = level - 1;
  tc_cursor = before;
}

int tce_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
  int known = number > 0 && number < 65;
  struct sigaction before = {0}, mine;
  if (known) before = handlers[number];
  int dispatched = known && installed[number];
  if (action && known) {
    mine = *action;
    int calls = mine.sa_handler != SIG_DFL && mine.sa_handler != SIG_IGN;
    if (calls) {
      handlers[number] = *action; // before the kernel knows: the signal may come at once
      mine.sa_sigaction = dispatch;
      mine.sa_flags |= SA_SIGINFO;
    }
    int result = sigaction(number, &mine, old);
    if (result) {
      handlers[number] = before;
      return result;
    }
    installed[number] = (char)calls;
  } else {
    int result = sigaction(number, action, old);
    if (result) return result;
  }
  if (old && dispatched) *old = before;
  return 0;
}

void (*tce_signal(int number, void (*handler)(int)))(int) {
  struct sigaction action = {0}, old;
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (tce_sigaction(number, &action, &old)) return SIG_ERR;
  return old.sa_handler;
}

static void thread_ends(void *unused) {
  (void)unused;
  if (!silent()) self.levels[self.level].cursor = tc_cursor;
  for (uint32_t level = 0; level < LEVELS; level++) submit(&self.levels[level], 0);
  tc_cursor = (char *)CHUNK; // destructors that run later open a chunk again
  self.watched = 0;
}

static void in_child(void) {
  atomic_fetch_add_explicit(&ring->forks, 1, memory_order_relaxed);
  off = 1;
  tc_cursor = scrap_chunk();
}

__attribute__((constructor(101))) static void start(void) {
  const char *text = getenv("TRACECUT_RING");
  if (!text) {
    off = 1;
    return;
  }
  int file = atoi(text);
  unsetenv("TRACECUT_RING");
  struct control *head = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (head == MAP_FAILED || head->magic != MAGIC || head->chunk_bits != TC_CHUNK_BITS) _exit(127);
  uint64_t queues = sizeof(struct entry) * head->queue + 4ull * head->queue + 4ull * head->most_slots;
  uint64_t front = (4096 + queues + 4095) & ~4095ull;
  uint64_t room = (uint64_t)head->most_slots * 2 * CHUNK;
  char *tables = mmap(0, front, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  char *space = mmap(0, room + 2 * CHUNK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (tables == MAP_FAILED || space == MAP_FAILED) _exit(127);
  data = (char *)(((uintptr_t)space + 2 * CHUNK - 1) & ~(2 * CHUNK - 1));
  if (mmap(data, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)front) == MAP_FAILED) _exit(127);
  ring = (struct control *)tables;
  entries = (struct entry *)(tables + 4096);
  vacant = (_Atomic uint32_t *)(entries + ring->queue);
  owner = vacant + ring->queue;
  // The page faults of the buffers are not the program's.
  for (uint32_t slot = 0; slot < ring->slots; slot++)
    madvise(data + (uint64_t)slot * 2 * CHUNK, CHUNK, 23 /* MADV_POPULATE_WRITE, where the kernel has it */);
  munmap(head, 4096);
  close(file);
  pthread_key_create(&at_thread_end, thread_ends);
  pthread_atfork(0, 0, in_child);
  tc_cursor = (char *)CHUNK; // what ran before wrote into the scrap
  atomic_store(&ring->started, 1);
}
