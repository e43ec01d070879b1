#include "compiler/object_archive.h"

#include <elf.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"

#define MAGIC "!<arch>\n"
enum { MAGIC_BYTES = 8, HEADER_BYTES = 60, SHORT_NAME = 15 };

/* A symbol that a member defines for others. */
typedef struct ArchiveSymbol {
  StringView name;
  int64_t member;
} ArchiveSymbol;

typedef struct ArchiveWriter {
  Arena *arena;
  const ObjectMember *members;
  int64_t count;
  ARRAY(ArchiveSymbol) symbols; /* in order of the members */
  StringBuilder long_names;     /* the member "//" */
  int64_t *name_offsets;        /* in it, by member; -1: the name is short */
  DiagSink *diag;
} ArchiveWriter;

/* --- symbols of an object --- */

static Elf64_Shdr section_of(StringView object, uint64_t offset, uint64_t index) {
  Elf64_Shdr section;
  XLAC_CHECK(offset <= object.size && (index + 1) * sizeof section <= object.size - offset);
  memcpy(&section, object.data + offset + index * sizeof section, sizeof section);
  return section;
}

static bool is_offered(const Elf64_Sym *symbol) {
  int binding = ELF64_ST_BIND(symbol->st_info);
  return symbol->st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK);
}

static Status add_symbol(ArchiveWriter *writer, StringMap *owners, StringView name, int64_t member, bool is_weak) {
  array_push(&writer->symbols, writer->arena, ((ArchiveSymbol){name, member}));
  if (is_weak) return STATUS_OK;
  const ObjectMember *other = string_map_set(owners, name, (void *)&writer->members[member]);
  if (other == NULL) return STATUS_OK;
  return diag_error(writer->diag, STATUS_INVALID, NO_LOC, "archive",
                    "both '%.*s' and '%.*s' define '%.*s', and an archive has room for one", SV_ARG(other->name),
                    SV_ARG(writer->members[member].name), SV_ARG(name));
}

/* The symbols of the table |section|. */
static Status add_table(ArchiveWriter *writer, StringMap *owners, int64_t member, uint64_t sections,
                        const Elf64_Shdr *section) {
  StringView object = writer->members[member].bytes;
  Elf64_Shdr names = section_of(object, sections, section->sh_link);
  XLAC_CHECK(section->sh_offset + section->sh_size <= object.size && names.sh_offset + names.sh_size <= object.size);
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section->sh_size; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    memcpy(&symbol, object.data + section->sh_offset + at, sizeof symbol);
    if (!is_offered(&symbol)) continue;
    XLAC_CHECK(symbol.st_name < names.sh_size);
    StringView name = sv_from_cstring(object.data + names.sh_offset + symbol.st_name);
    bool is_weak = ELF64_ST_BIND(symbol.st_info) == STB_WEAK;
    RETURN_IF_ERROR(add_symbol(writer, owners, name, member, is_weak));
  }
  return STATUS_OK;
}

static Status add_symbols(ArchiveWriter *writer, StringMap *owners, int64_t member) {
  StringView object = writer->members[member].bytes;
  Elf64_Ehdr header;
  XLAC_CHECK(object.size >= sizeof header && memcmp(object.data, ELFMAG, SELFMAG) == 0);
  memcpy(&header, object.data, sizeof header);
  XLAC_CHECK(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB);
  uint64_t count = header.e_shnum;
  if (count == 0) count = section_of(object, header.e_shoff, 0).sh_size; /* too many for the field */
  for (uint64_t i = 0; i < count; i++) {
    Elf64_Shdr section = section_of(object, header.e_shoff, i);
    if (section.sh_type == SHT_SYMTAB) RETURN_IF_ERROR(add_table(writer, owners, member, header.e_shoff, &section));
  }
  return STATUS_OK;
}

/* --- the archive --- */

static void append_header(StringBuilder *out, const char *name, const char *mode, uint64_t size) {
  const char *owner = mode[0] != '\0' ? "0" : "";
  /* Of the table of names only its size is said. */
  sb_printf(out, "%-16s%-12s%-6s%-6s%-8s%-10llu`\n", name, owner, owner, owner, mode, (unsigned long long)size);
}

static void pad(StringBuilder *out) {
  if (out->size % 2 != 0) sb_append_char(out, '\n');
}

static void append_big_endian(StringBuilder *out, uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; i--) sb_append_char(out, (char)(value >> (8 * i)));
}

static Status name_members(ArchiveWriter *writer) {
  StringMap names;
  string_map_init(&names, writer->arena);
  sb_init(&writer->long_names, writer->arena);
  for (int64_t i = 0; i < writer->count; i++) {
    StringView name = writer->members[i].name;
    if (string_map_set(&names, name, (void *)&writer->members[i]) != NULL)
      return diag_error(writer->diag, STATUS_INVALID, NO_LOC, "archive",
                        "two members of the archive would be called '%.*s'", SV_ARG(name));
    writer->name_offsets[i] = name.size > SHORT_NAME ? (int64_t)writer->long_names.size : -1;
    if (name.size > SHORT_NAME) sb_printf(&writer->long_names, "%.*s/\n", SV_ARG(name));
  }
  pad(&writer->long_names);
  return STATUS_OK;
}

static uint64_t even(uint64_t size) {
  return size + size % 2;
}

/* Where each member's header begins, after an index whose numbers have |width| bytes; the archive's size. */
static uint64_t place_members(const ArchiveWriter *writer, uint64_t index_size, uint64_t *offsets) {
  uint64_t at = MAGIC_BYTES + HEADER_BYTES + even(index_size);
  if (writer->long_names.size > 0) at += HEADER_BYTES + writer->long_names.size;
  for (int64_t i = 0; i < writer->count; i++) {
    offsets[i] = at;
    at += HEADER_BYTES + even(writer->members[i].bytes.size);
  }
  return at;
}

static void append_index(const ArchiveWriter *writer, const uint64_t *offsets, int width, uint64_t size,
                         StringBuilder *out) {
  append_header(out, width == 8 ? "/SYM64/" : "/", "0", size);
  append_big_endian(out, (uint64_t)writer->symbols.count, width);
  for (int64_t i = 0; i < writer->symbols.count; i++)
    append_big_endian(out, offsets[writer->symbols.data[i].member], width);
  for (int64_t i = 0; i < writer->symbols.count; i++) {
    sb_append(out, writer->symbols.data[i].name);
    sb_append_char(out, '\0');
  }
}

static void append_member(const ArchiveWriter *writer, int64_t i, StringBuilder *out) {
  const ObjectMember *member = &writer->members[i];
  const char *name = writer->name_offsets[i] < 0
                         ? arena_printf(writer->arena, "%.*s/", SV_ARG(member->name))
                         : arena_printf(writer->arena, "/%lld", (long long)writer->name_offsets[i]);
  append_header(out, name, "644", member->bytes.size);
  sb_append(out, member->bytes);
  pad(out);
}

static void write_archive(const ArchiveWriter *writer, StringBuilder *out) {
  uint64_t *offsets = ARENA_NEW_ARRAY(writer->arena, uint64_t, writer->count), names_size = 0;
  for (int64_t i = 0; i < writer->symbols.count; i++) names_size += writer->symbols.data[i].name.size + 1;
  int width = 4;
  uint64_t numbers = (uint64_t)writer->symbols.count + 1;
  if (place_members(writer, numbers * 4 + names_size, offsets) > UINT32_MAX) width = 8;
  uint64_t index_size = even(numbers * (uint64_t)width + names_size);
  place_members(writer, index_size, offsets);
  sb_append_cstring(out, MAGIC);
  append_index(writer, offsets, width, index_size, out);
  if (out->size % 2 != 0) sb_append_char(out, '\0');
  if (writer->long_names.size > 0) {
    append_header(out, "//", "", writer->long_names.size);
    sb_append(out, sb_view(&writer->long_names));
  }
  for (int64_t i = 0; i < writer->count; i++) append_member(writer, i, out);
}

Status object_archive_write(Arena *arena, const ObjectMember *members, int64_t count, DiagSink *diag,
                            StringView *out_bytes) {
  ArchiveWriter writer = {.arena = arena,
                          .members = members,
                          .count = count,
                          .name_offsets = ARENA_NEW_ARRAY(arena, int64_t, count),
                          .diag = diag};
  StringMap owners;
  string_map_init(&owners, arena);
  RETURN_IF_ERROR(name_members(&writer));
  for (int64_t i = 0; i < count; i++) RETURN_IF_ERROR(add_symbols(&writer, &owners, i));
  StringBuilder out;
  sb_init(&out, arena);
  write_archive(&writer, &out);
  *out_bytes = sb_view(&out);
  return STATUS_OK;
}
