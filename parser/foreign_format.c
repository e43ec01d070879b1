#include "parser/foreign_format.h"

#include <ctype.h>
#include <string.h>

/* --- serialized HLO --- */

/* The content of the field |tag| (with a length) at the start of |bytes|, and what comes after it; false when there is
 * none that fits. */
static bool take_field(StringView bytes, char tag, StringView *out_content, StringView *out_rest) {
  enum { LONGEST_VARINT = 5 };
  if (bytes.size < 2 || bytes.data[0] != tag) return false;
  size_t size = 0, at = 1;
  for (int shift = 0;; shift += 7) {
    if (at == bytes.size || at > LONGEST_VARINT) return false;
    unsigned char byte = (unsigned char)bytes.data[at++];
    size |= (size_t)(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (size > bytes.size - at) return false;
  *out_content = sv_sub(bytes, at, size);
  *out_rest = sv_sub(bytes, at + size, bytes.size);
  return true;
}

static bool is_name(StringView text) {
  for (size_t i = 0; i < text.size; i++)
    if (!isgraph((unsigned char)text.data[i])) return false;
  return text.size > 0;
}

/* An HloModuleProto begins with its name (field 1) and its entry's (field 2); in an HloProto the module is field 1, in
 * an HloSnapshot the HloProto is. */
static bool is_hlo_proto(StringView bytes) {
  enum { FIELD_1 = 0x0a, FIELD_2 = 0x12, MOST_WRAPPERS = 2 };
  for (int wrapper = 0; wrapper <= MOST_WRAPPERS; wrapper++) {
    StringView content, entry, rest;
    if (!take_field(bytes, FIELD_1, &content, &rest)) return false;
    if (is_name(content) && take_field(rest, FIELD_2, &entry, &rest) && is_name(entry)) return true;
    bytes = content;
  }
  return false;
}

/* --- texts --- */

/* |text| after blanks, comments and MLIR's aliases ("#loc = ..."). */
static StringView skip_preamble(StringView text) {
  while (text.size > 0) {
    bool is_line = text.data[0] == '#' || sv_starts_with(text, SV("//"));
    if (!is_line && !isspace((unsigned char)text.data[0])) break;
    const char *end = is_line ? memchr(text.data, '\n', text.size) : NULL;
    text = sv_sub(text, is_line && !end ? text.size : end ? (size_t)(end - text.data) + 1 : 1, text.size);
  }
  return text;
}

/* "module" could be a computation's name: what is in it tells. */
static bool is_mlir_text(StringView text) {
  static const char *const starts[] = {"module", "builtin.module", "\"builtin.module\"", "func.func", "\"func.func\""};
  static const char *const contents[] = {"func.func", "func @", "stablehlo.", "mhlo."};
  StringView start = skip_preamble(text);
  bool begins = false, contains = false;
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
    begins |= sv_starts_with(start, sv_from_cstring(starts[i]));
  for (size_t i = 0; begins && i < sizeof contents / sizeof contents[0]; i++)
    contains |= sv_contains(start, sv_from_cstring(contents[i]));
  return contains;
}

/* It begins with a character that no text has. */
static bool is_binary(StringView bytes) {
  return bytes.size > 0 && (unsigned char)bytes.data[0] < ' ' && !isspace((unsigned char)bytes.data[0]);
}

/* --- the table --- */

#define TO_HLO_TEXT "python3 scripts/to_hlo_text.py"
#define ARRAYS "arrays are inputs of a run: 'xlac run --inputs=FILE.npz --arg=K=FILE.npy MODEL.hlo'"
#define COMPILED "it is compiled already; xlac reads what it was compiled from"

/* The first row that matches: by its first bytes, or by |matches|. */
typedef struct ForeignFormat {
  StringView magic;
  bool (*matches)(StringView bytes);
  const char *what;
  const char *command; /* writes HLO text, or something nearer to it, to its standard output; NULL: none */
  const char *advice;  /* without a command; NULL: none */
} ForeignFormat;

#define MAGIC(literal) {("" literal), sizeof(literal) - 1}, NULL
#define LOOKS(matches) {"", 0}, matches

static const ForeignFormat formats[] = {
    {MAGIC("ML\xefR"), "MLIR bytecode", TO_HLO_TEXT, NULL},
    {MAGIC("\x1f\x8b"), "compressed by gzip", "gzip -dc", NULL},
    {MAGIC("\x28\xb5\x2f\xfd"), "compressed by zstd", "zstd -dc", NULL},
    {MAGIC("\3757zXZ"), "compressed by xz", "xz -dc", NULL},
    {MAGIC("BZh91AY&SY"), "compressed by bzip2", "bzip2 -dc", NULL},
    {MAGIC("PK\x03\x04"), "a zip archive, as .npz files are", NULL, ARRAYS},
    {MAGIC("\x93NUMPY"), "an array of numpy", NULL, ARRAYS},
    {MAGIC("\177ELF"), "an object file or a program", NULL, COMPILED},
    {MAGIC("BC\xc0\xde"), "LLVM bitcode", NULL, COMPILED},
    {MAGIC("\xff\xfe"), "UTF-16 text", "iconv -f UTF-16 -t UTF-8", NULL},
    {MAGIC("\xfe\xff"), "UTF-16 text", "iconv -f UTF-16 -t UTF-8", NULL},
    {LOOKS(is_hlo_proto), "a serialized HLO proto", TO_HLO_TEXT, NULL},
    {LOOKS(is_mlir_text), "MLIR text, StableHLO perhaps", TO_HLO_TEXT, NULL},
    {LOOKS(is_binary), "a binary file", NULL, NULL},
};

static const ForeignFormat *find_format(StringView bytes) {
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    const ForeignFormat *format = &formats[i];
    if (format->matches ? format->matches(bytes) : sv_starts_with(bytes, format->magic)) return format;
  }
  return NULL;
}

Status foreign_format_check(const SourceFile *file, DiagSink *diag) {
  const ForeignFormat *format = find_format(file->text);
  if (!format) return STATUS_OK;
  SourceLoc loc = {.file = file, .line = 1, .column = 1};
  Status status =
      diag_error(diag, STATUS_INVALID, loc, "foreign-format", "this is %s, and xlac reads HLO text", format->what);
  if (format->command)
    diag_note(diag, loc, "'%s %.*s >MODEL.hlo' makes %s of it", format->command, SV_ARG(file->name),
              strcmp(format->command, TO_HLO_TEXT) == 0 ? "HLO text" : "text");
  if (format->advice) diag_note(diag, loc, "%s", format->advice);
  return status;
}
