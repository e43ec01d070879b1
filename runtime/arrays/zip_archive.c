#include "runtime/arrays/zip_archive.h"

#include <string.h>
#include <zlib.h>

enum { METHOD_STORED = 0, METHOD_DEFLATED = 8, FLAG_ENCRYPTED = 1, FLAG_UTF8 = 1 << 11 };

/* Records: the bytes that each has at least. */
enum { LOCAL_BYTES = 30, ENTRY_BYTES = 46, END_BYTES = 22, END64_BYTES = 56, LOCATOR_BYTES = 20 };

/* The densest that deflate can be; a header that claims more lies. */
#define DEFLATE_MAX_RATIO 1032

/* --- reading --- */

static uint64_t number_at(const char *at, int bytes) {
  uint64_t number = 0;
  for (int i = bytes - 1; i >= 0; i--) number = number << 8 | (unsigned char)at[i];
  return number;
}

static bool has_bytes(StringView bytes, uint64_t offset, uint64_t count) {
  return offset <= bytes.size && count <= bytes.size - offset;
}

/* The record |signature| of |count| bytes at |offset|; NULL: there is none. */
static const char *record_at(StringView bytes, uint64_t offset, const char *signature, uint64_t count) {
  if (!has_bytes(bytes, offset, count) || memcmp(bytes.data + offset, signature, 4) != 0) return NULL;
  return bytes.data + offset;
}

/* The record at the archive's end, after which there is its comment alone; NULL: there is none. */
static const char *find_end(StringView bytes) {
  for (uint64_t comment = 0; comment <= UINT16_MAX && END_BYTES + comment <= bytes.size; comment++) {
    const char *end = record_at(bytes, bytes.size - END_BYTES - comment, "PK\5\6", END_BYTES);
    if (end != NULL && number_at(end + 20, 2) == comment) return end;
  }
  return NULL;
}

typedef struct Directory {
  uint64_t offset, count;
} Directory;

static const char *find_directory(StringView bytes, Directory *out_directory) {
  const char *end = find_end(bytes);
  if (end == NULL) return "it has no end of a zip archive";
  *out_directory = (Directory){number_at(end + 16, 4), number_at(end + 10, 2)};
  uint64_t at = (uint64_t)(end - bytes.data);
  const char *locator = at < LOCATOR_BYTES ? NULL : record_at(bytes, at - LOCATOR_BYTES, "PK\6\7", LOCATOR_BYTES);
  if (locator == NULL) return NULL;
  const char *end64 = record_at(bytes, number_at(locator + 8, 8), "PK\6\6", END64_BYTES);
  if (end64 == NULL) return "its end is damaged";
  *out_directory = (Directory){number_at(end64 + 48, 8), number_at(end64 + 32, 8)};
  return NULL;
}

static StringView after(StringView bytes, size_t count) {
  return (StringView){bytes.data + count, bytes.size - count};
}

/* What the extra fields of a member have in 64 bits: those of |numbers| that are all ones in 32, in their order. */
static void read_wide_numbers(StringView extra, uint64_t *const numbers[3]) {
  while (extra.size >= 4) {
    uint64_t id = number_at(extra.data, 2), size = number_at(extra.data + 2, 2);
    extra = after(extra, 4);
    if (size > extra.size) return;
    StringView field = {extra.data, size};
    for (int i = 0; id == 1 && i < 3 && field.size >= 8; i++) {
      if (*numbers[i] != UINT32_MAX) continue;
      *numbers[i] = number_at(field.data, 8);
      field = after(field, 8);
    }
    extra = after(extra, size);
  }
}

/* The member of the directory's record at |*offset|, which moves on to the next one. */
static const char *read_entry(StringView bytes, uint64_t *offset, ZipMember *out_member) {
  const char *entry = record_at(bytes, *offset, "PK\1\2", ENTRY_BYTES);
  if (entry == NULL) return "its directory is damaged";
  uint64_t name_size = number_at(entry + 28, 2), extra_size = number_at(entry + 30, 2);
  uint64_t whole = ENTRY_BYTES + name_size + extra_size + number_at(entry + 32, 2);
  if (!has_bytes(bytes, *offset, whole)) return "its directory is damaged";
  *offset += whole;
  uint64_t size = number_at(entry + 24, 4), stored = number_at(entry + 20, 4), begin = number_at(entry + 42, 4);
  read_wide_numbers((StringView){entry + ENTRY_BYTES + name_size, extra_size},
                    (uint64_t *const[]){&size, &stored, &begin});
  const char *local = record_at(bytes, begin, "PK\3\4", LOCAL_BYTES);
  if (local == NULL) return "a member is not where the directory says";
  begin += LOCAL_BYTES + number_at(local + 26, 2) + number_at(local + 28, 2);
  if (!has_bytes(bytes, begin, stored)) return "a member is cut off";
  if ((number_at(entry + 8, 2) & FLAG_ENCRYPTED) != 0) return "a member is encrypted";
  *out_member = (ZipMember){.name = {entry + ENTRY_BYTES, name_size},
                            .stored = {bytes.data + begin, stored},
                            .size = size,
                            .checksum = (uint32_t)number_at(entry + 16, 4),
                            .method = (int)number_at(entry + 10, 2)};
  return NULL;
}

const char *zip_archive_read(Arena *arena, StringView bytes, ZipArchive *out_archive) {
  *out_archive = (ZipArchive){0};
  Directory directory;
  const char *wrong = find_directory(bytes, &directory);
  if (wrong != NULL) return wrong;
  if (directory.count > bytes.size / ENTRY_BYTES) return "its directory is damaged";
  out_archive->count = (int64_t)directory.count;
  out_archive->members = ARENA_NEW_ARRAY(arena, ZipMember, directory.count);
  for (uint64_t i = 0; i < directory.count && wrong == NULL; i++)
    wrong = read_entry(bytes, &directory.offset, &out_archive->members[i]);
  return wrong;
}

/* --- unpacking --- */

static void *take(void *arena, unsigned count, unsigned size) {
  return arena_alloc_array(arena, count, size);
}

/* What was taken goes with the arena. */
static void leave(void *arena, void *data) {
  (void)arena, (void)data;
}

/* zlib counts in 32 bits. */
static unsigned piece(uint64_t left) {
  return left < UINT32_MAX ? (unsigned)left : UINT32_MAX;
}

/* True when the whole of |packed| makes |size| bytes at |out_bytes|. */
static bool inflate_all(z_stream *stream, StringView packed, char *out_bytes, uint64_t size) {
  uint64_t taken = 0, made = 0;
  for (;;) {
    unsigned in = piece(packed.size - taken), out = piece(size - made);
    stream->next_in = (Bytef *)(uintptr_t)(packed.data + taken), stream->avail_in = in;
    stream->next_out = (Bytef *)(out_bytes + made), stream->avail_out = out;
    int result = inflate(stream, Z_NO_FLUSH);
    taken += in - stream->avail_in, made += out - stream->avail_out;
    if (result == Z_STREAM_END) return made == size;
    if (result != Z_OK || (stream->avail_in == in && stream->avail_out == out)) return false;
  }
}

static const char *inflate_member(Arena *arena, const ZipMember *member, StringView *out_bytes) {
  if (member->size / DEFLATE_MAX_RATIO > member->stored.size + 1) return "a member's size is impossible";
  char *bytes = arena_alloc_aligned(arena, (size_t)member->size + 1, 64);
  Arena *scratch = arena_create();
  z_stream stream = {.zalloc = take, .zfree = leave, .opaque = scratch};
  /* a negative window: no header of zlib's own */
  bool ok = inflateInit2(&stream, -MAX_WBITS) == Z_OK && inflate_all(&stream, member->stored, bytes, member->size);
  arena_destroy(scratch);
  *out_bytes = (StringView){bytes, (size_t)member->size};
  return ok ? NULL : "a member is damaged";
}

const char *zip_member_unpack(Arena *arena, const ZipMember *member, StringView *out_bytes) {
  const char *wrong = NULL;
  switch (member->method) {
    case METHOD_STORED:
      *out_bytes = member->stored;
      if (member->size != member->stored.size) return "a member is damaged";
      break;
    case METHOD_DEFLATED: wrong = inflate_member(arena, member, out_bytes); break;
    default: return "a member is packed in another way than by deflate";
  }
  if (wrong != NULL) return wrong;
  bool agrees = crc32_z(0, (const Bytef *)out_bytes->data, out_bytes->size) == member->checksum;
  return agrees ? NULL : "a member is damaged";
}

/* --- writing --- */

enum { VERSION = 20, VERSION_WIDE = 45, FIRST_DAY = 1 << 5 | 1 };

/* |bytes|: at most 8. */
static void put(StringBuilder *out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) sb_append_char(out, (char)(number >> 8 * i));
}

/* In 32 bits, all ones where they are not enough. */
static void put_narrow(StringBuilder *out, uint64_t number) {
  put(out, number < UINT32_MAX ? number : UINT32_MAX, 4);
}

static bool is_wide(uint64_t number) {
  return number >= UINT32_MAX;
}

static int flags_of(StringView name) {
  for (size_t i = 0; i < name.size; i++) {
    if ((unsigned char)name.data[i] >= 0x80) return FLAG_UTF8;
  }
  return 0;
}

/* What a member's two headers have alike; |wide_bytes|: of the numbers of 64 bits that follow the name. */
static void put_facts(StringBuilder *out, const ZipMember *member, uint32_t checksum, int wide_bytes) {
  put(out, wide_bytes > 0 ? VERSION_WIDE : VERSION, 2);
  put(out, (uint64_t)flags_of(member->name), 2);
  put(out, METHOD_STORED, 2);
  put(out, 0, 2);
  put(out, FIRST_DAY, 2);
  put(out, checksum, 4);
  put_narrow(out, member->stored.size);
  put_narrow(out, member->stored.size);
  put(out, member->name.size, 2);
  put(out, wide_bytes > 0 ? 4 + (uint64_t)wide_bytes : 0, 2);
}

static void put_wide_head(StringBuilder *out, int wide_bytes) {
  if (wide_bytes == 0) return;
  put(out, 1, 2);
  put(out, (uint64_t)wide_bytes, 2);
}

static void put_local(StringBuilder *out, const ZipMember *member, uint32_t checksum) {
  int wide = is_wide(member->stored.size) ? 16 : 0;
  sb_append(out, SV("PK\3\4"));
  put_facts(out, member, checksum, wide);
  sb_append(out, member->name);
  put_wide_head(out, wide);
  for (int i = 0; i < wide / 8; i++) put(out, member->stored.size, 8);
  sb_append(out, member->stored);
}

static void put_entry(StringBuilder *out, const ZipMember *member, uint32_t checksum, uint64_t begin) {
  int wide = (is_wide(member->stored.size) ? 16 : 0) + (is_wide(begin) ? 8 : 0);
  sb_append(out, SV("PK\1\2"));
  put(out, wide > 0 ? VERSION_WIDE : VERSION, 2);
  put_facts(out, member, checksum, wide);
  put(out, 0, 2 + 2 + 2); /* no comment, the first disk, no attributes inside */
  put(out, 0, 4);         /* and none outside */
  put_narrow(out, begin);
  sb_append(out, member->name);
  put_wide_head(out, wide);
  for (int i = 0; is_wide(member->stored.size) && i < 2; i++) put(out, member->stored.size, 8);
  if (is_wide(begin)) put(out, begin, 8);
}

static void put_end(StringBuilder *out, uint64_t count, uint64_t begin, uint64_t end) {
  if (count >= UINT16_MAX || is_wide(end)) {
    sb_append(out, SV("PK\6\6"));
    put(out, END64_BYTES - 12, 8);
    put(out, VERSION_WIDE, 2);
    put(out, VERSION_WIDE, 2);
    put(out, 0, 8);
    for (int i = 0; i < 2; i++) put(out, count, 8);
    put(out, end - begin, 8);
    put(out, begin, 8);
    sb_append(out, SV("PK\6\7"));
    put(out, 0, 4);
    put(out, end, 8);
    put(out, 1, 4);
  }
  sb_append(out, SV("PK\5\6"));
  put(out, 0, 4);
  for (int i = 0; i < 2; i++) put(out, count < UINT16_MAX ? count : UINT16_MAX, 2);
  put_narrow(out, end - begin);
  put_narrow(out, begin);
  put(out, 0, 2);
}

StringView zip_archive_write(Arena *arena, const ZipMember *members, int64_t count) {
  StringBuilder out;
  sb_init(&out, arena);
  uint64_t *begins = ARENA_NEW_ARRAY(arena, uint64_t, count);
  uint32_t *checksums = ARENA_NEW_ARRAY(arena, uint32_t, count);
  for (int64_t i = 0; i < count; i++) {
    begins[i] = sb_view(&out).size;
    checksums[i] = (uint32_t)crc32_z(0, (const Bytef *)members[i].stored.data, members[i].stored.size);
    put_local(&out, &members[i], checksums[i]);
  }
  uint64_t directory = sb_view(&out).size;
  for (int64_t i = 0; i < count; i++) put_entry(&out, &members[i], checksums[i], begins[i]);
  put_end(&out, (uint64_t)count, directory, sb_view(&out).size);
  return sb_view(&out);
}
