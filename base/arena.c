#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guarded_call.h"

/* Under AddressSanitizer the unused part of every block is poisoned and neighbours keep a gap, so that running over the
 * end of one allocation is caught although the block goes on. */
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(data, size) ((void)(data), (void)(size))
enum { RED_ZONE = 0 };
#endif

enum { DEFAULT_ALIGNMENT = 16 };

static const size_t FIRST_BLOCK_SIZE = (size_t)16 << 10;
static const size_t SMALL_BLOCK_SIZE = (size_t)64 << 10;
static const size_t LARGEST_BLOCK_SIZE = (size_t)4 << 20;

typedef struct ArenaBlock {
  struct ArenaBlock *previous;
  size_t size;  /* bytes of data */
  size_t used;  /* bytes of data handed out, gaps included */
  size_t dirty; /* bytes from here on are still as they were made: zero */
  _Alignas(DEFAULT_ALIGNMENT) unsigned char data[];
} ArenaBlock;

struct Arena {
  ArenaBlock *current;   /* where small allocations come from */
  ArenaBlock *oversized; /* blocks of one allocation each */
  size_t next_block_size;
  size_t used;
  GuardedArena guarded;
};

static ArenaBlock *block_create(size_t size) {
  if (size > SIZE_MAX - sizeof(ArenaBlock)) out_of_memory(size);
  /* calloc gets large blocks as fresh zero pages, so nothing is cleared twice; of small ones, which were used before,
   * only what is handed out need be cleared: most arenas of one pass over one computation use little of theirs. */
  bool is_small = size <= SMALL_BLOCK_SIZE;
  ArenaBlock *block = is_small ? malloc(sizeof(ArenaBlock) + size) : calloc(1, sizeof(ArenaBlock) + size);
  if (block == NULL) out_of_memory(size);
  *block = (ArenaBlock){.size = size, .dirty = is_small ? size : 0};
  ASAN_POISON_MEMORY_REGION(block->data, size);
  return block;
}

static void blocks_free(ArenaBlock *block) {
  while (block != NULL) {
    ArenaBlock *previous = block->previous;
    ASAN_UNPOISON_MEMORY_REGION(block->data, block->size);
    free(block);
    block = previous;
  }
}

Arena *arena_create(void) {
  Arena *arena = calloc(1, sizeof(Arena));
  if (arena == NULL) out_of_memory(sizeof(Arena));
  arena->next_block_size = FIRST_BLOCK_SIZE;
  guarded_call_add_arena(&arena->guarded, arena);
  return arena;
}

void arena_destroy(Arena *arena) {
  if (arena == NULL) return;
  guarded_call_remove_arena(&arena->guarded);
  blocks_free(arena->current);
  blocks_free(arena->oversized);
  free(arena);
}

/* |blocks| before those of |*list|. */
static void blocks_prepend(ArenaBlock *blocks, ArenaBlock **list) {
  if (blocks == NULL) return;
  ArenaBlock *last = blocks;
  while (last->previous != NULL) last = last->previous;
  last->previous = *list;
  *list = blocks;
}

void arena_take(Arena *arena, Arena *taken) {
  blocks_prepend(taken->current, &arena->oversized);
  blocks_prepend(taken->oversized, &arena->oversized);
  arena->used += taken->used;
  guarded_call_remove_arena(&taken->guarded);
  free(taken);
}

void arena_reset(Arena *arena) {
  blocks_free(arena->oversized);
  arena->oversized = NULL;
  arena->used = 0;
  ArenaBlock *kept = arena->current; /* the newest block is the largest */
  if (kept == NULL) return;
  blocks_free(kept->previous);
  kept->previous = NULL;
  kept->used = 0;
  ASAN_POISON_MEMORY_REGION(kept->data, kept->size);
}

/* Hands out the bytes of |block| from |start| to |end|, zeroed, and the gap after them. */
static void block_hand_out(ArenaBlock *block, size_t start, size_t end) {
  ASAN_UNPOISON_MEMORY_REGION(block->data + start, end - start);
  if (start < block->dirty) memset(block->data + start, 0, (end < block->dirty ? end : block->dirty) - start);
  if (end > block->dirty) block->dirty = end;
  size_t gap_end = end + RED_ZONE;
  block->used = gap_end < block->size ? gap_end : block->size;
}

/* The place in |block| of |size| bytes, or NULL when they do not fit. */
static void *block_alloc(ArenaBlock *block, size_t size, size_t alignment) {
  uintptr_t base = (uintptr_t)block->data;
  uintptr_t place = (base + block->used + alignment - 1) & ~(uintptr_t)(alignment - 1);
  size_t start = (size_t)(place - base);
  if (start > block->size || block->size - start < size) return NULL;
  block_hand_out(block, start, start + size);
  return block->data + start;
}

static void *arena_alloc_slow(Arena *arena, size_t size, size_t alignment) {
  if (size > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) out_of_memory(size);
  size_t worst_case = size + alignment + RED_ZONE;
  if (worst_case > arena->next_block_size / 4) {
    /* A block of its own, so that the rest of the current one is not lost. */
    ArenaBlock *block = block_create(worst_case);
    block->previous = arena->oversized;
    arena->oversized = block;
    return block_alloc(block, size, alignment);
  }
  ArenaBlock *block = block_create(arena->next_block_size);
  block->previous = arena->current;
  arena->current = block;
  if (arena->next_block_size < LARGEST_BLOCK_SIZE) arena->next_block_size *= 2;
  return block_alloc(block, size, alignment);
}

void *arena_alloc_aligned(Arena *arena, size_t size, size_t alignment) {
  XLAC_CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0);
  if (alignment < DEFAULT_ALIGNMENT) alignment = DEFAULT_ALIGNMENT;
  arena->used += size;
  if (size == 0) size = 1; /* every allocation has an address of its own */
  void *data = arena->current != NULL ? block_alloc(arena->current, size, alignment) : NULL;
  return data != NULL ? data : arena_alloc_slow(arena, size, alignment);
}

void *arena_alloc(Arena *arena, size_t size) {
  return arena_alloc_aligned(arena, size, DEFAULT_ALIGNMENT);
}

void *arena_alloc_array(Arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) out_of_memory(SIZE_MAX);
  return arena_alloc(arena, bytes);
}

bool arena_extend(Arena *arena, const void *data, size_t old_size, size_t new_size) {
  ArenaBlock *block = arena->current;
  XLAC_CHECK(new_size >= old_size);
  if (block == NULL || data == NULL || old_size == 0) return false;
  uintptr_t base = (uintptr_t)block->data, place = (uintptr_t)data;
  if (place < base || place >= base + block->used) return false;
  size_t start = (size_t)(place - base), old_end = start + old_size;
  /* Only the latest allocation ends where the used part ends. */
  if (old_end + RED_ZONE != block->used || block->size - start < new_size) return false;
  block_hand_out(block, old_end, start + new_size);
  arena->used += new_size - old_size;
  return true;
}

char *arena_copy_string(Arena *arena, const char *data, size_t size) {
  if (size == SIZE_MAX) out_of_memory(size);
  char *copy = arena_alloc(arena, size + 1);
  if (size != 0) memcpy(copy, data, size);
  return copy;
}

void *arena_copy(Arena *arena, const void *data, size_t size) {
  void *copy = arena_alloc(arena, size);
  if (size != 0) memcpy(copy, data, size);
  return copy;
}

char *arena_vprintf(Arena *arena, const char *format, va_list arguments) {
  char small[256];
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(small, sizeof small, format, arguments);
  if (length < 0) XLAC_BUG("cannot format '%s'", format);
  char *text = arena_alloc(arena, (size_t)length + 1);
  if ((size_t)length < sizeof small) {
    memcpy(text, small, (size_t)length);
  } else {
    vsnprintf(text, (size_t)length + 1, format, again);
  }
  va_end(again);
  return text;
}

char *arena_printf(Arena *arena, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = arena_vprintf(arena, format, arguments);
  va_end(arguments);
  return text;
}

void *memory_for_library(size_t size) {
  void *memory = malloc(size);
  if (memory == NULL) out_of_memory(size);
  return memory;
}

size_t arena_used(const Arena *arena) {
  return arena->used;
}
