/* The code of xlac/constants.h: this file and that header are all it takes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "xlac/constants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages begin where constants may. */
_Static_assert(XLAC_CONSTANTS_ALIGNMENT <= 4096, "no page is smaller");

static const XlacConstants *fail(const char *path, const char *why, char *message, size_t message_size) {
  if (message != NULL && message_size > 0) snprintf(message, message_size, "'%s': %s", path, why);
  return NULL;
}

static bool has_constants(const XlacDescriptor *descriptor) {
  return descriptor->struct_size >= offsetof(XlacDescriptor, constants_hash) + sizeof descriptor->constants_hash &&
         descriptor->constants_bytes > 0;
}

/* |bytes| of the file; NULL and errno. */
static const XlacConstants *map(int file, size_t bytes) {
  void *start = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  return start == MAP_FAILED ? NULL : start;
}

const XlacConstants *xlac_constants_open(const char *path, const XlacDescriptor *descriptor, char *message,
                                         size_t message_size) {
  if (!has_constants(descriptor)) return fail(path, "the module has its constants in itself", message, message_size);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return fail(path, strerror(errno), message, message_size);
  struct stat status;
  size_t bytes = (size_t)descriptor->constants_bytes;
  bool has_size = fstat(file, &status) == 0 && status.st_size == descriptor->constants_bytes;
  const XlacConstants *constants = has_size ? map(file, bytes) : NULL;
  int error = errno;
  close(file);
  if (has_size && constants == NULL) return fail(path, strerror(error), message, message_size);
  if (has_size && constants->magic == XLAC_CONSTANTS_MAGIC && constants->bytes == descriptor->constants_bytes &&
      constants->hash == descriptor->constants_hash)
    return constants;
  if (constants != NULL) munmap((void *)constants, bytes);
  return fail(path, "it is not the file of constants that was written with the module's object", message, message_size);
}

void xlac_constants_close(const XlacConstants *constants) {
  if (constants != NULL) munmap((void *)constants, (size_t)constants->bytes);
}
