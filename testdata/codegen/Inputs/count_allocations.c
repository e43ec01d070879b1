/* For LD_PRELOAD: counts what is asked of the heap and mapped.  A program that knows it reads the counts
 * (allocations_read). */
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *memalign(size_t alignment, size_t size);
void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
void allocations_read(int64_t *out_count, int64_t *out_bytes);

static _Atomic int64_t count, bytes;

static void note(size_t size) {
  count++;
  bytes += (int64_t)size;
}

void *malloc(size_t size) {
  note(size);
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  note(number * size);
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  note(size);
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out == NULL ? 12 : 0;
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  note(size);
  return (void *)(uintptr_t)syscall(SYS_mmap, address, size, protection, flags, file, offset); /* NOLINT */
}

void allocations_read(int64_t *out_count, int64_t *out_bytes) {
  *out_count = count;
  *out_bytes = bytes;
}
