/* DiskCache: blobs of bytes under names, in a folder that processes share, of limited size; the one used longest ago
 * goes first.
 *
 * Any number of threads and processes use one folder at once, and any may end at any moment, by whatever signal:
 *   - an entry is a file, there whole or not at all; what was damaged is known by its checksum, and removed;
 *   - reading takes no lock.  Who writes holds a lock (flock), which the system releases with the process;
 *   - the file being written has one name, under the lock, so that at most one is ever left over, which the next
 *     overwrites;
 *   - a count of bytes stands beside the lock.  It is raised before anything is written, so that it is never less than
 *     what is there; above the limit, entries are counted anew and the oldest removed, to nine tenths of the limit.
 *
 * An entry counts with the file system's blocks of DISK_CACHE_BLOCK bytes.  Files of other names stay untouched.
 * Nothing is forced to the disk: after the machine's own sudden end, entries may be damaged and the count too low,
 * until it is made anew.
 *
 * A cache that fails costs time alone: functions say false with errno, and the caller goes on without. */
#ifndef XLAC_BASE_DISK_CACHE_H
#define XLAC_BASE_DISK_CACHE_H

#include "base/content_digest.h"

enum { DISK_CACHE_BLOCK = 4096 };

typedef struct DiskCache {
  int folder; /* descriptor; closed by disk_cache_close */
  int64_t limit;
} DiskCache;

typedef struct DiskCacheSize {
  int64_t entries, bytes; /* of blocks */
} DiskCacheSize;

/* Opens the folder |path|, which is made if it is not there, with those it lies in, for this user alone. */
MUST_USE bool disk_cache_open(const char *path, int64_t limit, DiskCache *out_cache);
void disk_cache_close(DiskCache *cache);

/* The content of the entry |name|, in |arena|, 16-byte aligned; it counts as used now.  False: there is none. */
MUST_USE bool disk_cache_get(const DiskCache *cache, const ContentDigest *name, Arena *arena, StringView *out_content);
/* Writes the entry, in place of one of that name.  errno is EFBIG for one that is larger than the limit, EAGAIN when
 * others have held the lock for seconds; then, and when the disk is full, nothing changes. */
MUST_USE bool disk_cache_put(const DiskCache *cache, const ContentDigest *name, StringView content);

/* What is there, counted. */
MUST_USE bool disk_cache_size(const DiskCache *cache, DiskCacheSize *out_size);
/* Removes those used longest ago until at most |limit| bytes are left, and what a process left unfinished. */
MUST_USE bool disk_cache_prune(const DiskCache *cache, int64_t limit, DiskCacheSize *out_removed);

#endif
