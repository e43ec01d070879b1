/* What one thread or several can do at best: multiply-adds in registers, bytes from and to memory, words to each other.
 *
 *   limits THREADS, then lines on standard input, each answered by one:
 *     multiply f32|f64|s8     operations a second, a multiplication and an addition being two
 *     move READ WRITTEN       seconds that reading and writing so many bytes takes, the least of some tries
 *     exchange                seconds in which a word goes from one thread to another and back; 0 for one thread
 *
 * Memory is read by sums of vectors; written with and without the caches, whichever is faster. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_THREADS = 64, PIECES = 16, TRIES = 5, TRIPS = 100, TRIP_TRIES = 20 };

typedef struct Work {
  const char *what; /* "f32", "f64", "s8", "move", "exchange" */
  char *from, *to;
  size_t read, written;
  bool is_streamed;
  atomic_int *word;
  bool answers;
  const cpu_set_t *processors; /* the second of these is the thread's; NULL: where the system likes */
  volatile int sink;
} Work;

/* Threads that try the same thing together. */
typedef struct Team {
  int threads, tries;
  atomic_int arrived, turn;
} Team;

typedef struct Member {
  Team *team;
  Work *work;
} Member;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define ROUNDS 400000L
#define ONE(op, number) op " %" R "14,%" R "15,%" R number "\n"
#define FOUR(op, a, b, c, d) ONE(op, a) ONE(op, b) ONE(op, c) ONE(op, d)
#define TWELVE(op) FOUR(op, "0", "1", "2", "3") FOUR(op, "4", "5", "6", "7") FOUR(op, "8", "9", "10", "11")
#ifdef __AVX512F__
#define R "zmm"
#define BYTES 64
#else
#define R "ymm"
#define BYTES 32
#endif

#ifdef __AVX512VNNI__
#define BYTE_PRODUCTS "vpdpbusd"
#else
#define BYTE_PRODUCTS "vpmaddwd"
#endif

/* Twelve chains are enough for the latency of any of these. Without VNNI a product of bytes is a part of a vpmaddwd. */
static void multiply(const char *what) {
  if (strcmp(what, "f32") == 0) {
    for (long i = 0; i < ROUNDS; i++) __asm__ volatile(TWELVE("vfmadd231ps"));
  } else if (strcmp(what, "f64") == 0) {
    for (long i = 0; i < ROUNDS; i++) __asm__ volatile(TWELVE("vfmadd231pd"));
  } else {
    for (long i = 0; i < ROUNDS; i++) __asm__ volatile(TWELVE(BYTE_PRODUCTS));
  }
}

static double operations(const char *what) {
  double lanes = strcmp(what, "f32") == 0 ? BYTES / 4 : strcmp(what, "f64") == 0 ? BYTES / 8 : BYTES / 2;
#ifdef __AVX512VNNI__
  if (strcmp(what, "s8") == 0) lanes = BYTES;
#endif
  return 12.0 * ROUNDS * 2 * lanes;
}

/* From four places at once: one stream alone does not keep memory busy. */
static int sum(const char *from, size_t size) {
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  size_t quarter = size / 4 / 64 * 64;
  for (size_t i = 0; i < quarter; i += 64) {
    for (int half = 0; half < 64; half += 32) {
      const char *p = from + i + half;
      a = _mm256_add_epi32(a, _mm256_load_si256((const __m256i *)p));
      b = _mm256_add_epi32(b, _mm256_load_si256((const __m256i *)(p + quarter)));
      c = _mm256_add_epi32(c, _mm256_load_si256((const __m256i *)(p + 2 * quarter)));
      d = _mm256_add_epi32(d, _mm256_load_si256((const __m256i *)(p + 3 * quarter)));
    }
  }
  a = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
  return _mm256_extract_epi32(a, 0) + _mm256_extract_epi32(a, 7);
}

static void fill(char *to, size_t size, bool is_streamed) {
  __m256i value = _mm256_set1_epi32((int)size);
  for (size_t i = 0; i + 64 <= size; i += 64) {
    __m256i *p = (__m256i *)(to + i);
    if (is_streamed) {
      _mm256_stream_si256(p, value);
      _mm256_stream_si256(p + 1, value);
    } else {
      _mm256_store_si256(p, value);
      _mm256_store_si256(p + 1, value);
    }
  }
}

static void move(Work *work) {
  size_t read = work->read / PIECES / 256 * 256, written = work->written / PIECES / 64 * 64;
  for (int i = 0; i < PIECES; i++) {
    work->sink += sum(work->from + (size_t)i * read, read);
    fill(work->to + (size_t)i * written, written, work->is_streamed);
  }
  _mm_sfence();
}

/* Where threads share a processor, the other gets it now and then. */
static void wait_for(atomic_int *word, int value) {
  for (int i = 1; atomic_load_explicit(word, memory_order_acquire) != value; i++) {
    if (i % 4096 == 0) sched_yield();
  }
}

static void exchange(Work *work) {
  for (int i = 1; i <= TRIPS; i++) {
    if (work->answers) wait_for(work->word, i);
    atomic_store_explicit(work->word, work->answers ? -i : i, memory_order_release);
    if (!work->answers) wait_for(work->word, -i);
  }
}

static void run(Work *work) {
  if (strcmp(work->what, "move") == 0)
    move(work);
  else if (strcmp(work->what, "exchange") == 0)
    exchange(work);
  else
    multiply(work->what);
}

/* Threads that have just begun may be on one processor for a while. */
static void move_to(const cpu_set_t *processors, int number) {
  int processor = 0;
  for (; processor < CPU_SETSIZE; processor++) {
    if (CPU_ISSET(processor, processors) && --number == 0) break;
  }
  if (processor == CPU_SETSIZE) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/* Returns when all threads of the team have come here. They spin: a sleeping thread wakes up late. */
static void meet(Team *team) {
  int turn = atomic_load(&team->turn);
  if (atomic_fetch_add(&team->arrived, 1) + 1 == team->threads) {
    atomic_store(&team->arrived, 0);
    atomic_store(&team->turn, turn + 1);
  }
  while (atomic_load(&team->turn) == turn) _mm_pause();
}

static void *help(void *argument) {
  Member *member = argument;
  if (member->work->processors != NULL) move_to(member->work->processors, 2);
  for (int i = 0; i < member->team->tries; i++) {
    meet(member->team);
    run(member->work);
    meet(member->team);
  }
  return NULL;
}

/* The least time of some tries, in which each thread does its own work at the same time. */
static double least(Work *works, int threads, int tries) {
  pthread_t others[MOST_THREADS];
  Member members[MOST_THREADS];
  Team team = {.threads = threads, .tries = tries};
  for (int i = 0; i < threads; i++) members[i] = (Member){&team, &works[i]};
  for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, help, &members[i]);
  double best = 1e9;
  for (int i = 0; i < tries; i++) {
    meet(&team);
    double start = now();
    run(&works[0]);
    meet(&team);
    double seconds = now() - start;
    if (seconds < best) best = seconds;
  }
  for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
  return best;
}

/* As xlac run has arrays: in the system's large pages, where it gives them. */
static char *allocate(size_t bytes) {
  enum { LARGE_PAGE = 2 << 20 };
  char *data = aligned_alloc(LARGE_PAGE, (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
  madvise(data, bytes, MADV_HUGEPAGE);
  memset(data, 1, bytes);
  return data;
}

static double least_move(size_t read, size_t written, int threads) {
  Work works[MOST_THREADS];
  size_t all_read = read + 4096, all_written = written + 4096;
  char *from = allocate(all_read), *to = allocate(all_written);
  int tries = read + written < 4u << 20 ? 100 : TRIES;
  double best = 1e9;
  for (int is_streamed = 0; is_streamed < (written > 0 ? 2 : 1); is_streamed++) {
    for (int i = 0; i < threads; i++)
      works[i] = (Work){"move",
                        from + read / (size_t)threads / 64 * 64 * (size_t)i,
                        to + written / (size_t)threads / 64 * 64 * (size_t)i,
                        read / (size_t)threads,
                        written / (size_t)threads,
                        is_streamed,
                        NULL,
                        false,
                        NULL,
                        0};
    double seconds = least(works, threads, tries);
    if (seconds < best) best = seconds;
  }
  free(from);
  free(to);
  return best;
}

/* Between the first two. */
static double least_trip(void) {
  struct {
    _Alignas(128) atomic_int word; /* alone in its line, and in the one that is fetched with it */
    char rest[128];
  } shared = {0};
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return 0;
  Work works[] = {{.what = "exchange", .word = &shared.word},
                  {.what = "exchange", .word = &shared.word, .answers = true, .processors = &processors}};
  move_to(&processors, 1);
  double seconds = least(works, 2, TRIP_TRIES) / TRIPS;
  sched_setaffinity(0, sizeof processors, &processors);
  return seconds;
}

int main(int count, char **words) {
  int threads = count > 1 ? atoi(words[1]) : 1;
  char line[256], what[16];
  size_t read, written;
  while (fgets(line, sizeof line, stdin)) {
    if (sscanf(line, "multiply %15s", what) == 1) {
      Work works[MOST_THREADS];
      for (int i = 0; i < threads; i++) works[i] = (Work){.what = what};
      printf("%g\n", operations(what) * threads / least(works, threads, 8));
    } else if (sscanf(line, "move %zu %zu", &read, &written) == 2) {
      printf("%g\n", least_move(read, written, threads));
    } else if (strncmp(line, "exchange", 8) == 0) {
      printf("%g\n", threads > 1 ? least_trip() : 0.0);
    }
    fflush(stdout);
  }
}
