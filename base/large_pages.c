#include "base/large_pages.h"

#include <stdint.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define SMALL_PAGE_BYTES ((size_t)4096)

size_t large_page_alignment(size_t bytes) {
  return bytes >= LARGE_PAGE_BYTES ? LARGE_PAGE_BYTES : 1;
}

size_t workspace_page_alignment(size_t bytes) {
  return bytes >= LARGE_PAGE_BYTES ? LARGE_PAGE_BYTES : SMALL_PAGE_BYTES;
}

void large_pages_ask(void *data, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  uintptr_t first = ((uintptr_t)data + LARGE_PAGE_BYTES - 1) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
  uintptr_t end = ((uintptr_t)data + bytes) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
  if (first < end) (void)madvise((void *)first, end - first, MADV_HUGEPAGE); /* no is an answer as well */
#else
  (void)data, (void)bytes;
#endif
}
