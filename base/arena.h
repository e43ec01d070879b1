/* Arena: memory that is freed all at once.
 *
 * Every allocation is zeroed and aligned to 16 bytes (arena_alloc_aligned: to what is asked).  Nothing is freed before
 * arena_reset or arena_destroy.  A pointer may point into an equal or longer-lived arena, never into a shorter one.
 * Running out of memory is not an error value: it ends the process, or the guarded call (base/guarded_call.h).  Not
 * thread-safe. */
#ifndef XLAC_BASE_ARENA_H
#define XLAC_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct Arena Arena;

/* The caller owns the result and ends it with arena_destroy (which accepts NULL). */
Arena *arena_create(void);
void arena_destroy(Arena *arena);

/* What |taken| has lives as long as |arena| from here on, and |taken| is no more. */
void arena_take(Arena *arena, Arena *taken);

/* Frees everything allocated, keeps one block for reuse. */
void arena_reset(Arena *arena);

/* |size| bytes, zeroed; never NULL. */
void *arena_alloc(Arena *arena, size_t size);
void *arena_alloc_aligned(Arena *arena, size_t size, size_t alignment);

/* |count| * |size| bytes, overflow-checked. */
void *arena_alloc_array(Arena *arena, size_t count, size_t size);

/* A zero-terminated copy of |size| bytes. */
char *arena_copy_string(Arena *arena, const char *data, size_t size);
void *arena_copy(Arena *arena, const void *data, size_t size);

/* Zero-terminated text in the manner of printf. */
char *arena_printf(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(Arena *arena, const char *format, va_list arguments) PRINTF_LIKE(2, 0);

/* Makes the allocation at |data| of |old_size| bytes |new_size| bytes long where it stands, zeroed as ever; false when
 * something else stands after it, nothing has changed then. */
bool arena_extend(Arena *arena, const void *data, size_t old_size, size_t new_size);

/* Memory for a library that allocates through a function of ours and gives it back to free; never NULL. */
void *memory_for_library(size_t size);

/* Bytes handed out since creation or the last reset. */
size_t arena_used(const Arena *arena);

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define ARENA_NEW_ARRAY(arena, Type, count) ((Type *)arena_alloc_array((arena), (size_t)(count), sizeof(Type)))
#define ARENA_COPY_ARRAY(arena, Type, data, count) ((Type *)arena_copy((arena), (data), (size_t)(count) * sizeof(Type)))

#endif
