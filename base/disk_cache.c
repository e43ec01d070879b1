#include "base/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked_math.h"

/* The folder has these, and entries: digest and ending. */
#define LOCK_FILE "lock"
#define UNFINISHED_FILE "unfinished"
#define ENTRY_ENDING ".entry"

enum { ENTRY_NAME_SIZE = CONTENT_DIGEST_HEX_SIZE + sizeof ENTRY_ENDING };

/* An entry's first bytes; its content follows.  In this machine's byte order: another's is taken for damaged. */
typedef struct EntryHead {
  char magic[8];
  uint64_t size; /* of the content */
  ContentDigest name;
  uint64_t checksum; /* of the content */
  uint64_t reserved;
} EntryHead;

_Static_assert(sizeof(EntryHead) == 64, "no gaps, and the content is aligned");

static const char entry_magic[8] = "xlac-e1";

/* FNV-1a (Fowler, Noll and Vo) by words of 64 bits in place of bytes, in lanes that do not wait for one another.  Each
 * step is a bijection of what it gets, so that no change of one word goes unseen. */
static uint64_t checksum_of(StringView bytes) {
  enum { LANES = 8 };
  static const uint64_t prime = UINT64_C(0x100000001b3), basis = UINT64_C(0xcbf29ce484222325);
  uint64_t lanes[LANES], words[LANES], sum = basis;
  for (int i = 0; i < LANES; i++) lanes[i] = basis + (uint64_t)i;
  for (size_t at = 0; at < bytes.size; at += sizeof words) {
    size_t part = bytes.size - at < sizeof words ? bytes.size - at : sizeof words;
    if (part < sizeof words) memset(words, 0, sizeof words);
    memcpy(words, bytes.data + at, part);
    for (int i = 0; i < LANES; i++) lanes[i] = (lanes[i] ^ words[i]) * prime;
  }
  for (int i = 0; i < LANES; i++) sum = (sum ^ lanes[i]) * prime;
  return (sum ^ bytes.size) * prime;
}

static int64_t blocks_of(int64_t size) {
  return (size + DISK_CACHE_BLOCK - 1) / DISK_CACHE_BLOCK * DISK_CACHE_BLOCK;
}

static void name_entry(const ContentDigest *name, char out_file[ENTRY_NAME_SIZE]) {
  content_digest_hex(name, out_file);
  memcpy(out_file + CONTENT_DIGEST_HEX_SIZE, ENTRY_ENDING, sizeof ENTRY_ENDING);
}

static bool is_entry(const char *file) {
  return strspn(file, "0123456789abcdef") == CONTENT_DIGEST_HEX_SIZE &&
         strcmp(file + CONTENT_DIGEST_HEX_SIZE, ENTRY_ENDING) == 0;
}

/* --- the folder --- */

static bool make_folders(const char *path) {
  Arena *scratch = arena_create();
  char *copy = arena_copy_string(scratch, path, strlen(path));
  bool made = true;
  for (char *at = copy; made && *at != '\0'; at++) {
    if (at[1] != '/' && at[1] != '\0') continue;
    char next = at[1];
    at[1] = '\0';
    made = mkdir(copy, S_IRWXU) == 0 || errno == EEXIST || access(copy, F_OK) == 0;
    at[1] = next;
  }
  arena_destroy(scratch);
  return made;
}

bool disk_cache_open(const char *path, int64_t limit, DiskCache *out_cache) {
  int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  *out_cache = (DiskCache){.folder = open(path, flags), .limit = limit};
  if (out_cache->folder < 0 && errno == ENOENT && make_folders(path)) out_cache->folder = open(path, flags);
  return out_cache->folder >= 0;
}

void disk_cache_close(DiskCache *cache) {
  if (cache->folder >= 0) close(cache->folder);
  cache->folder = -1;
}

/* --- reading and writing whole files --- */

static bool read_all(int file, void *data, size_t size) {
  char *at = data;
  while (size > 0) {
    ssize_t part = read(file, at, size);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    at += part, size -= (size_t)part;
  }
  return true;
}

static bool write_all(int file, const void *data, size_t size) {
  const char *at = data;
  while (size > 0) {
    ssize_t part = write(file, at, size);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return false;
    at += part, size -= (size_t)part;
  }
  return true;
}

/* The content of the open entry |file|; false when it is not what was written under |name|. */
static bool read_entry(int file, const ContentDigest *name, Arena *arena, StringView *content) {
  struct stat about;
  EntryHead head;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || !read_all(file, &head, sizeof head)) return false;
  bool is_whole = memcmp(head.magic, entry_magic, sizeof head.magic) == 0 && head.reserved == 0 &&
                  memcmp(&head.name, name, sizeof *name) == 0 && head.size == (uint64_t)about.st_size - sizeof head;
  if (!is_whole) return false;
  char *data = arena_alloc_aligned(arena, head.size + 1, 64);
  *content = (StringView){data, head.size};
  return read_all(file, data, head.size) && checksum_of(*content) == head.checksum;
}

bool disk_cache_get(const DiskCache *cache, const ContentDigest *name, Arena *arena, StringView *out_content) {
  char path[ENTRY_NAME_SIZE];
  name_entry(name, path);
  int file = openat(cache->folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  bool is_whole = read_entry(file, name, arena, out_content);
  static const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
  if (!is_whole)
    unlinkat(cache->folder, path, 0);
  else
    (void)futimens(file, now); /* where it fails, the entry is older than it could be */
  close(file);
  return is_whole;
}

/* --- the lock, and the count of bytes in its file --- */

typedef struct ByteCount {
  uint64_t bytes, inverse; /* all bits of |bytes| inverted: what else is there counts nothing */
} ByteCount;

/* Whether the open lock is still the folder's own, which may have been removed and made again meanwhile. */
static bool is_current(const DiskCache *cache, int lock) {
  struct stat ours, there;
  return fstat(lock, &ours) == 0 && fstatat(cache->folder, LOCK_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/* A descriptor, whose close unlocks; -1 with errno.  Others hold it while they write one entry or count all. */
static int take_lock(const DiskCache *cache) {
  enum { MOST_TRIES = 5000, NANOSECONDS = 1000000 };
  for (int try = 0; try < MOST_TRIES; try++) {
    int lock = openat(cache->folder, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (lock < 0) return -1;
    bool is_held = flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (is_held && is_current(cache, lock)) return lock;
    int error = is_held ? EAGAIN : errno;
    close(lock);
    errno = error;
    if (error != EAGAIN && error != EINTR) return -1;
    nanosleep(&(struct timespec){.tv_nsec = NANOSECONDS}, NULL);
  }
  errno = EAGAIN;
  return -1;
}

/* -1: not known. */
static int64_t read_count(int lock) {
  ByteCount count;
  if (pread(lock, &count, sizeof count, 0) != (ssize_t)sizeof count) return -1;
  return count.bytes == ~count.inverse && count.bytes <= INT64_MAX / 2 ? (int64_t)count.bytes : -1;
}

static bool write_count(int lock, int64_t bytes) {
  ByteCount count = {(uint64_t)bytes, ~(uint64_t)bytes};
  return pwrite(lock, &count, sizeof count, 0) == (ssize_t)sizeof count;
}

/* --- counting and removing --- */

typedef struct FoundEntry {
  char file[ENTRY_NAME_SIZE];
  int64_t bytes;
  struct timespec used;
} FoundEntry;

typedef ARRAY(FoundEntry) FoundEntries;

/* The one used longest ago first; those of one moment by their names. */
static int compare_use(const void *a, const void *b) {
  const FoundEntry *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
  if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
  return strcmp(x->file, y->file);
}

static bool find_entries(const DiskCache *cache, Arena *scratch, FoundEntries *out_entries) {
  *out_entries = (FoundEntries){0};
  int copy = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
  if (folder == NULL) {
    if (copy >= 0) close(copy);
    return false;
  }
  for (struct dirent *at; (at = readdir(folder)) != NULL;) {
    struct stat about;
    FoundEntry found;
    if (!is_entry(at->d_name) || fstatat(cache->folder, at->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    memcpy(found.file, at->d_name, sizeof found.file);
    found.bytes = blocks_of(about.st_size);
    found.used = about.st_mtim;
    array_push(out_entries, scratch, found);
  }
  closedir(folder);
  return true;
}

static DiskCacheSize size_of(const FoundEntries *entries) {
  DiskCacheSize size = {.entries = entries->count};
  for (int64_t i = 0; i < entries->count; i++) size.bytes += entries->data[i].bytes;
  return size;
}

/* With the lock, so that an unfinished file is one that was left; what is left is counted. */
static bool prune(const DiskCache *cache, int lock, int64_t limit, DiskCacheSize *out_removed, int64_t *out_left) {
  Arena *scratch = arena_create();
  FoundEntries entries;
  bool is_found = find_entries(cache, scratch, &entries);
  *out_removed = (DiskCacheSize){0};
  *out_left = size_of(&entries).bytes;
  unlinkat(cache->folder, UNFINISHED_FILE, 0);
  if (entries.count > 0) qsort(entries.data, (size_t)entries.count, sizeof *entries.data, compare_use);
  for (int64_t i = 0; i < entries.count && *out_left > limit; i++) {
    if (unlinkat(cache->folder, entries.data[i].file, 0) != 0 && errno != ENOENT) continue;
    *out_left -= entries.data[i].bytes;
    out_removed->bytes += entries.data[i].bytes;
    out_removed->entries++;
  }
  arena_destroy(scratch);
  return is_found && write_count(lock, *out_left);
}

/* Nothing comes or goes meanwhile; but for those who may only read, who take what they find. */
bool disk_cache_size(const DiskCache *cache, DiskCacheSize *out_size) {
  int lock = take_lock(cache);
  Arena *scratch = arena_create();
  FoundEntries entries;
  bool is_found = find_entries(cache, scratch, &entries);
  *out_size = size_of(&entries);
  arena_destroy(scratch);
  if (lock >= 0) close(lock);
  return is_found;
}

bool disk_cache_prune(const DiskCache *cache, int64_t limit, DiskCacheSize *out_removed) {
  int lock = take_lock(cache);
  if (lock < 0) return false;
  int64_t left;
  bool is_done = prune(cache, lock, limit, out_removed, &left);
  close(lock);
  return is_done;
}

/* --- writing an entry --- */

/* Room for |bytes| more, which are counted from now on. */
static bool make_room(const DiskCache *cache, int lock, int64_t bytes) {
  int64_t there = read_count(lock);
  DiskCacheSize removed;
  if (there < 0 || there > cache->limit - bytes) {
    int64_t goal = min_i64(cache->limit - bytes, cache->limit / 10 * 9);
    if (!prune(cache, lock, goal, &removed, &there)) return false;
    errno = ENOSPC; /* entries that nobody may remove */
    if (there > cache->limit - bytes) return false;
  }
  return write_count(lock, there + bytes);
}

static bool write_entry(const DiskCache *cache, const ContentDigest *name, StringView content) {
  EntryHead head = {.size = content.size, .name = *name, .checksum = checksum_of(content)};
  memcpy(head.magic, entry_magic, sizeof head.magic);
  char path[ENTRY_NAME_SIZE];
  name_entry(name, path);
  int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  int file = openat(cache->folder, UNFINISHED_FILE, flags, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  bool is_written = write_all(file, &head, sizeof head) && write_all(file, content.data, content.size);
  is_written &= close(file) == 0;
  if (is_written && renameat(cache->folder, UNFINISHED_FILE, cache->folder, path) == 0) return true;
  int error = errno;
  unlinkat(cache->folder, UNFINISHED_FILE, 0);
  errno = error;
  return false;
}

bool disk_cache_put(const DiskCache *cache, const ContentDigest *name, StringView content) {
  int64_t bytes = blocks_of((int64_t)(sizeof(EntryHead) + content.size));
  errno = EFBIG;
  if (bytes > cache->limit) return false;
  int lock = take_lock(cache);
  if (lock < 0) return false;
  bool is_written = make_room(cache, lock, bytes) && write_entry(cache, name, content);
  int error = errno;
  close(lock);
  errno = error;
  return is_written;
}
