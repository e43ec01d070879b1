#include "runtime/remote/block_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Says also that the bytes are in the order that is expected. */
#define MAGIC INT64_C(0x31304b4c42434c58)

static bool write_block(FILE *file, const FileBlock *block) {
  bool has_size = fwrite(&block->bytes, sizeof block->bytes, 1, file) == 1;
  return has_size && (block->bytes == 0 || fwrite(block->data, (size_t)block->bytes, 1, file) == 1);
}

Status block_file_write(const char *path, const FileBlock *blocks, int64_t count, DiagSink *diag) {
  FILE *file = fopen(path, "wb");
  bool good = file != NULL;
  int64_t head[2] = {MAGIC, count};
  good = good && fwrite(head, sizeof head, 1, file) == 1;
  for (int64_t i = 0; i < count && good; i++) good = write_block(file, &blocks[i]);
  int error = errno;
  if (file != NULL && fclose(file) != 0 && good) {
    error = errno;
    good = false;
  }
  if (good) return STATUS_OK;
  return diag_error(diag, STATUS_IO, NO_LOC, "io-write", "unable to write '%s': %s", path, strerror(error));
}

static bool read_block(FILE *file, const FileBlock *block) {
  int64_t bytes;
  bool has_size = fread(&bytes, sizeof bytes, 1, file) == 1 && bytes == block->bytes;
  return has_size && (bytes == 0 || fread(block->data, (size_t)bytes, 1, file) == 1);
}

Status block_file_read(const char *path, const FileBlock *blocks, int64_t count, DiagSink *diag) {
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return diag_error(diag, STATUS_IO, NO_LOC, "io-read", "unable to read '%s': %s", path, strerror(errno));
  int64_t head[2];
  bool good = fread(head, sizeof head, 1, file) == 1 && head[0] == MAGIC && head[1] == count;
  for (int64_t i = 0; i < count && good; i++) good = read_block(file, &blocks[i]);
  good = good && fgetc(file) == EOF;
  fclose(file);
  if (good) return STATUS_OK;
  return diag_error(diag, STATUS_IO, NO_LOC, "io-read", "'%s' does not hold the %lld arrays expected", path,
                    (long long)count);
}
