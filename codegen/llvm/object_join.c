#include "codegen/llvm/object_join.h"

#include <elf.h>
#include <string.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/hash_map.h"
#include "base/status.h"

typedef ARRAY(char) Bytes;
typedef ARRAY(Elf64_Rela) Relocations;
typedef ARRAY(Elf64_Sym) Symbols;

/* A section of the result. */
typedef struct JoinedSection {
  const char *name;
  Elf64_Shdr header; /* type, flags, entry size, alignment; its size so far */
  Bytes bytes;       /* none of NOBITS */
  Relocations
      relocations; /* of symbols by their number + 1 in |entries| of the Join; finish_symbols makes them final */
  uint32_t symbol; /* the entry that stands for the section; 0: nobody refers to it */
} JoinedSection;

/* A symbol of the result; |number|, its place there, is known in the end. */
typedef struct JoinedSymbol {
  const char *name;
  Elf64_Sym symbol; /* its section: a number + 1 in |sections|, or a special one */
  uint32_t number;
  bool is_local;
} JoinedSymbol;

/* Where something of a part went: a section's place in the result. */
typedef struct Place {
  int32_t section; /* -1: nowhere */
  uint64_t offset;
} Place;

typedef struct Input {
  const char *data;
  const Elf64_Ehdr *header;
  const Elf64_Shdr *sections;
  const char *section_names;
  const Elf64_Sym *symbols;
  const char *symbol_names;
  uint32_t symbol_count;
  Place *places;     /* by section */
  uint32_t *entries; /* by symbol: in the Join + 1; 0: none */
} Input;

typedef struct Join {
  Arena *arena;
  ARRAY(JoinedSection) sections;
  ARRAY(JoinedSymbol) entries;
  StringMap globals; /* name → entry + 1 */
  Bytes names;
} Join;

/* --- a part --- */

static const char *section_name(const Input *input, uint32_t section) {
  return input->section_names + input->sections[section].sh_name;
}

/* Tables are read where they stand, so objects begin at a multiple of their alignment. */
static Input open_input(Join *join, StringView object) {
  if ((uintptr_t)object.data % 8 != 0) {
    char *copy = arena_alloc(join->arena, object.size);
    memcpy(copy, object.data, object.size);
    object.data = copy;
  }
  Input input = {.data = object.data, .header = (const Elf64_Ehdr *)(const void *)object.data};
  const Elf64_Ehdr *header = input.header;
  bool is_object = object.size > sizeof *header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                   header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_type == ET_REL;
  if (!is_object) XLAC_BUG("a part is no object");
  input.sections = (const Elf64_Shdr *)(const void *)(object.data + header->e_shoff);
  input.section_names = object.data + input.sections[header->e_shstrndx].sh_offset;
  for (uint32_t s = 0; s < header->e_shnum; s++) {
    const Elf64_Shdr *section = &input.sections[s];
    if (section->sh_type != SHT_SYMTAB) continue;
    input.symbols = (const Elf64_Sym *)(const void *)(object.data + section->sh_offset);
    input.symbol_count = (uint32_t)(section->sh_size / sizeof *input.symbols);
    input.symbol_names = object.data + input.sections[section->sh_link].sh_offset;
  }
  input.places = ARENA_NEW_ARRAY(join->arena, Place, header->e_shnum);
  input.entries = ARENA_NEW_ARRAY(join->arena, uint32_t, input.symbol_count + 1);
  return input;
}

/* --- sections --- */

static void append(Bytes *bytes, Arena *arena, const void *data, uint64_t size) {
  array_reserve(bytes, arena, bytes->count + (int64_t)size);
  if (size > 0) memcpy(bytes->data + bytes->count, data, size);
  bytes->count += (int64_t)size;
}

static void pad(Bytes *bytes, Arena *arena, uint64_t size) {
  array_reserve(bytes, arena, (int64_t)size);
  while (bytes->count < (int64_t)size) bytes->data[bytes->count++] = 0;
}

static int32_t section_like(Join *join, const char *name, const Elf64_Shdr *header) {
  for (int32_t s = 0; s < join->sections.count; s++) {
    const JoinedSection *made = &join->sections.data[s];
    if (strcmp(made->name, name) == 0 && made->header.sh_type == header->sh_type &&
        made->header.sh_flags == header->sh_flags && made->header.sh_entsize == header->sh_entsize)
      return s;
  }
  JoinedSection section = {.name = name};
  section.header.sh_type = header->sh_type;
  section.header.sh_flags = header->sh_flags;
  section.header.sh_entsize = header->sh_entsize;
  section.header.sh_addralign = 1;
  array_push(&join->sections, join->arena, section);
  return (int32_t)join->sections.count - 1;
}

/* What tables are made of again, or only other linkers read. */
static bool is_left_out(const Elf64_Shdr *section) {
  switch (section->sh_type) {
    case SHT_NULL:
    case SHT_SYMTAB:
    case SHT_STRTAB:
    case SHT_RELA: return true;
    default: return section->sh_type >= SHT_LOOS && (section->sh_flags & SHF_ALLOC) == 0;
  }
}

static void join_sections(Join *join, Input *input) {
  for (uint32_t s = 0; s < input->header->e_shnum; s++) {
    const Elf64_Shdr *from = &input->sections[s];
    input->places[s].section = -1;
    if (is_left_out(from)) continue;
    if (from->sh_type == SHT_GROUP || (from->sh_flags & SHF_LINK_ORDER) != 0)
      XLAC_BUG("section '%s' of a part depends on others", section_name(input, s));
    int32_t number = section_like(join, section_name(input, s), from);
    JoinedSection *to = &join->sections.data[number];
    uint64_t alignment = (uint64_t)max_i64((int64_t)from->sh_addralign, 1);
    if ((from->sh_flags & SHF_MERGE) != 0) alignment = (uint64_t)max_i64((int64_t)alignment, (int64_t)from->sh_entsize);
    uint64_t offset = (to->header.sh_size + alignment - 1) / alignment * alignment;
    input->places[s] = (Place){number, offset};
    to->header.sh_size = offset + from->sh_size;
    to->header.sh_addralign = (uint64_t)max_i64((int64_t)to->header.sh_addralign, (int64_t)alignment);
    if (from->sh_type == SHT_NOBITS) continue;
    pad(&to->bytes, join->arena, offset);
    append(&to->bytes, join->arena, input->data + from->sh_offset, from->sh_size);
  }
}

/* --- symbols --- */

static uint32_t add_entry(Join *join, const char *name, Elf64_Sym symbol, bool is_local) {
  array_push(&join->entries, join->arena, ((JoinedSymbol){name, symbol, 0, is_local}));
  return (uint32_t)join->entries.count;
}

/* |symbol| with its section and value in the result. */
static Elf64_Sym moved(const Input *input, Elf64_Sym symbol) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) return symbol;
  Place place = input->places[symbol.st_shndx];
  symbol.st_value += place.offset;
  symbol.st_shndx = (Elf64_Section)(place.section + 1);
  return symbol;
}

/* The symbol of a section; what refers to it adds the place of its part. */
static uint32_t section_entry(Join *join, int32_t section) {
  JoinedSection *made = &join->sections.data[section];
  if (made->symbol == 0) {
    Elf64_Sym symbol = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = (Elf64_Section)(section + 1)};
    made->symbol = add_entry(join, "", symbol, true);
  }
  return made->symbol;
}

static uint32_t global_entry(Join *join, const char *name, Elf64_Sym symbol) {
  StringView key = sv_from_cstring(name);
  uint32_t entry = (uint32_t)(uintptr_t)string_map_get(&join->globals, key);
  if (entry == 0) {
    entry = add_entry(join, name, symbol, false);
    string_map_set(&join->globals, key, (void *)(uintptr_t)entry);
    return entry;
  }
  Elf64_Sym *known = &join->entries.data[entry - 1].symbol;
  bool is_hidden = ELF64_ST_VISIBILITY(known->st_other) == STV_HIDDEN;
  if (symbol.st_shndx != SHN_UNDEF) {
    if (known->st_shndx != SHN_UNDEF) XLAC_BUG("two parts define '%s'", name);
    *known = symbol;
  }
  if (is_hidden) known->st_other = STV_HIDDEN;
  return entry;
}

/* Names of source files are left out after the first: all are the same. */
static void join_symbols(Join *join, Input *input) {
  for (uint32_t i = 1; i < input->symbol_count; i++) {
    Elf64_Sym symbol = moved(input, input->symbols[i]);
    const char *name = input->symbol_names + symbol.st_name;
    int type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_SECTION) {
      int32_t section = input->places[input->symbols[i].st_shndx].section;
      if (section >= 0) input->entries[i] = section_entry(join, section);
    } else if (type == STT_FILE) {
      if (join->entries.count == 0) add_entry(join, name, symbol, true);
    } else if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) {
      input->entries[i] = add_entry(join, name, symbol, true);
    } else {
      input->entries[i] = global_entry(join, name, symbol);
    }
  }
}

static void join_relocations(Join *join, const Input *input) {
  for (uint32_t s = 0; s < input->header->e_shnum; s++) {
    const Elf64_Shdr *section = &input->sections[s];
    if (section->sh_type != SHT_RELA || input->places[section->sh_info].section < 0) continue;
    Place place = input->places[section->sh_info];
    const Elf64_Rela *from = (const Elf64_Rela *)(const void *)(input->data + section->sh_offset);
    for (uint64_t r = 0; r < section->sh_size / sizeof *from; r++) {
      Elf64_Rela relocation = from[r];
      uint32_t number = (uint32_t)ELF64_R_SYM(relocation.r_info);
      const Elf64_Sym *symbol = &input->symbols[number];
      relocation.r_offset += place.offset;
      if (ELF64_ST_TYPE(symbol->st_info) == STT_SECTION)
        relocation.r_addend += (Elf64_Sxword)input->places[symbol->st_shndx].offset;
      relocation.r_info = ELF64_R_INFO(input->entries[number], ELF64_R_TYPE(relocation.r_info));
      array_push(&join->sections.data[place.section].relocations, join->arena, relocation);
    }
  }
}

/* --- the result --- */

static uint32_t add_name(Join *join, const char *name) {
  if (name[0] == '\0') return 0;
  uint32_t at = (uint32_t)join->names.count;
  append(&join->names, join->arena, name, strlen(name) + 1);
  return at;
}

/* Local ones stand first; how many those are is |out_local_count|. */
static Symbols finish_symbols(Join *join, uint32_t *out_local_count) {
  Symbols symbols = {0};
  array_push(&symbols, join->arena, ((Elf64_Sym){0}));
  for (int locals = 1; locals >= 0; locals--) {
    for (int64_t e = 0; e < join->entries.count; e++) {
      JoinedSymbol *entry = &join->entries.data[e];
      Elf64_Sym symbol = entry->symbol;
      bool is_hidden = ELF64_ST_VISIBILITY(symbol.st_other) == STV_HIDDEN;
      if (is_hidden && symbol.st_shndx == SHN_UNDEF) XLAC_BUG("no part defines '%s'", entry->name);
      if ((entry->is_local || is_hidden) != (locals == 1)) continue;
      if (is_hidden) symbol.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol.st_info));
      if (is_hidden) symbol.st_other = STV_DEFAULT;
      symbol.st_name = add_name(join, entry->name);
      entry->number = (uint32_t)symbols.count;
      array_push(&symbols, join->arena, symbol);
    }
    if (locals == 1) *out_local_count = (uint32_t)symbols.count;
  }
  for (int64_t s = 0; s < join->sections.count; s++) {
    Relocations *relocations = &join->sections.data[s].relocations;
    for (int64_t r = 0; r < relocations->count; r++) {
      uint64_t info = relocations->data[r].r_info, entry = ELF64_R_SYM(info);
      uint64_t number = entry == 0 ? 0 : join->entries.data[entry - 1].number;
      relocations->data[r].r_info = ELF64_R_INFO(number, ELF64_R_TYPE(info));
    }
  }
  return symbols;
}

typedef struct Output {
  Join *join;
  Bytes file;
  ARRAY(Elf64_Shdr) headers;
} Output;

static void write_section(Output *output, Elf64_Shdr header, const char *name, const void *data, uint64_t size) {
  uint64_t alignment = (uint64_t)max_i64((int64_t)header.sh_addralign, 1);
  uint64_t offset = ((uint64_t)output->file.count + alignment - 1) / alignment * alignment;
  header.sh_name = add_name(output->join, name);
  header.sh_offset = offset;
  header.sh_size = size;
  if (header.sh_type != SHT_NOBITS) {
    pad(&output->file, output->join->arena, offset);
    append(&output->file, output->join->arena, data, size);
  }
  array_push(&output->headers, output->join->arena, header);
}

/* Sections, then their relocations, symbols and names; sections of the result have their number + 1. */
static StringView write_file(Join *join, const Elf64_Ehdr *like) {
  Arena *arena = join->arena;
  Output output = {.join = join};
  Elf64_Ehdr header = *like;
  array_push(&join->names, arena, '\0');
  pad(&output.file, arena, sizeof header);
  array_push(&output.headers, arena, ((Elf64_Shdr){0}));
  uint32_t local_count, symbol_table = 1 + (uint32_t)join->sections.count;
  Symbols symbols = finish_symbols(join, &local_count);
  for (int64_t s = 0; s < join->sections.count; s++) {
    const JoinedSection *section = &join->sections.data[s];
    write_section(&output, section->header, section->name, section->bytes.data, section->header.sh_size);
  }
  Elf64_Shdr table = {.sh_type = SHT_SYMTAB, .sh_link = symbol_table + 1, .sh_info = local_count, .sh_addralign = 8};
  table.sh_entsize = sizeof(Elf64_Sym);
  write_section(&output, table, ".symtab", symbols.data, (uint64_t)symbols.count * sizeof *symbols.data);
  array_push(&output.headers, arena, ((Elf64_Shdr){0})); /* of the names, which are not all known yet */
  for (int64_t s = 0; s < join->sections.count; s++) {
    const JoinedSection *section = &join->sections.data[s];
    const Relocations *relocations = &section->relocations;
    if (relocations->count == 0) continue;
    Elf64_Shdr rela = {.sh_type = SHT_RELA, .sh_flags = SHF_INFO_LINK, .sh_link = symbol_table, .sh_addralign = 8};
    rela.sh_info = (uint32_t)s + 1;
    rela.sh_entsize = sizeof(Elf64_Rela);
    write_section(&output, rela, arena_printf(arena, ".rela%s", section->name), relocations->data,
                  (uint64_t)relocations->count * sizeof *relocations->data);
  }
  uint32_t own_name = add_name(join, ".strtab");
  output.headers.data[symbol_table + 1] = (Elf64_Shdr){.sh_name = own_name,
                                                       .sh_type = SHT_STRTAB,
                                                       .sh_offset = (uint64_t)output.file.count,
                                                       .sh_size = (uint64_t)join->names.count,
                                                       .sh_addralign = 1};
  append(&output.file, arena, join->names.data, (uint64_t)join->names.count);
  header.e_shoff = ((uint64_t)output.file.count + 7) / 8 * 8;
  header.e_shnum = (Elf64_Half)output.headers.count;
  header.e_shstrndx = (Elf64_Half)(symbol_table + 1);
  pad(&output.file, arena, header.e_shoff);
  append(&output.file, arena, output.headers.data, (uint64_t)output.headers.count * sizeof *output.headers.data);
  memcpy(output.file.data, &header, sizeof header);
  return (StringView){output.file.data, (size_t)output.file.count};
}

StringView object_join(Arena *arena, const StringView *objects, int count) {
  Arena *scratch = arena_create();
  Join join = {.arena = scratch};
  string_map_init(&join.globals, scratch);
  Input *inputs = ARENA_NEW_ARRAY(scratch, Input, count);
  for (int i = 0; i < count; i++) {
    inputs[i] = open_input(&join, objects[i]);
    join_sections(&join, &inputs[i]);
  }
  for (int i = 0; i < count; i++) join_symbols(&join, &inputs[i]);
  for (int i = 0; i < count; i++) join_relocations(&join, &inputs[i]);
  StringView joined = write_file(&join, inputs[0].header);
  joined.data = arena_copy_string(arena, joined.data, joined.size);
  arena_destroy(scratch);
  return joined;
}
