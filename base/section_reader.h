/* SectionReader: text of sections and keys, read strictly into values.
 *
 *   [section ARGUMENT]  key = value  key = value     # a comment
 *
 * A section ends where the next begins; entries stand on one line or several.  What sections and keys there are is a
 * table (SectionSchema) of the format, and a value goes straight to its place in an object.  Everything that is
 * unknown, repeated, missing or impossible is a located error with the nearest word that there is ("description-…");
 * reading goes on after it, so that one run tells them all. */
#ifndef XLAC_BASE_SECTION_READER_H
#define XLAC_BASE_SECTION_READER_H

#include "base/diagnostic.h"

typedef struct SectionReader SectionReader;
typedef struct SectionKey SectionKey;

typedef enum SectionValueKind {
  SECTION_TEXT,  /* StringView, in the source's text */
  SECTION_COUNT, /* int64_t */
  SECTION_SIZE,  /* int64_t, suffixes K M G */
  SECTION_RATE,  /* double, decimal, with or without exponent */
  SECTION_WORD,  /* an enum of int's size: the position in |words| */
  SECTION_OTHER  /* whatever |set| makes of it */
} SectionValueKind;

/* Flags of keys; a format has its own from SECTION_OWN on. */
enum { SECTION_NEEDED = 1 << 0, SECTION_POSITIVE = 1 << 1, SECTION_OWN = 1 << 2 };

struct SectionKey {
  const char *name;
  SectionValueKind kind;
  unsigned flags;
  size_t offset;     /* of the value in the section's object */
  const char *words; /* of SECTION_WORD, separated by '|' */
  void (*set)(SectionReader *reader, StringView text, SourceLoc loc, void *place); /* of SECTION_OTHER; reports */
};

typedef struct SectionRule {
  const char *name;
  const char *argument; /* what stands after the name; NULL: nothing, and there is one such section at most */
  bool needed;
  size_t loc_offset; /* of the section's SourceLoc in the reader's target; of sections without argument */
  int key_count;     /* at most SECTION_MAX_KEYS */
  const SectionKey *keys;
  /* The object that its keys fill; NULL: the section is not wanted, which was reported, and its keys are skipped.
   * Without |open| it is the reader's target. */
  void *(*open)(SectionReader *reader, StringView argument, SourceLoc loc);
  bool (*is_needed)(const SectionReader *reader, const SectionKey *key); /* NULL: as its flags say */
  void (*close)(SectionReader *reader);                                  /* NULL: nothing is to be done */
} SectionRule;

#define SECTION_MAX_KEYS 32
#define SECTION_MAX_RULES 16

typedef struct SectionSchema {
  const SectionRule *rules;
  int count;           /* at most SECTION_MAX_RULES */
  double largest_rate; /* that a SECTION_RATE may have; counts and sizes go to 2^40 */
} SectionSchema;

struct SectionReader {
  Arena *arena;
  DiagSink *diag;
  void *target, *context; /* as section_read was given them */
  Status status;
  /* the open section; NULL: none, or one whose keys are skipped */
  const SectionRule *rule;
  void *object;
  SourceLoc loc;
  bool given[SECTION_MAX_KEYS]; /* by the key's position */
  SourceLoc key_locs[SECTION_MAX_KEYS];
  /* the reader's own */
  const SectionSchema *schema;
  const SourceFile *source;
  size_t at, line_start;
  uint32_t line;
  bool has_errors; /* what is missing in the section may be what is wrong in it */
  bool is_skipping;
  SourceLoc seen[SECTION_MAX_RULES]; /* the last such section; line 0: none */
};

/* Reads |source| by |schema| into |target|, with |context| for the schema's functions.  Strings are views of the
 * source. */
MUST_USE Status section_read(Arena *arena, const SourceFile *source, DiagSink *diag, const SectionSchema *schema,
                             void *target, void *context);

/* For the schema's functions: reports an error; the code and the format follow the place. */
#define SECTION_FAIL(reader, place, ...) \
  ((reader)->has_errors = true, (reader)->status = diag_error((reader)->diag, STATUS_INVALID, (place), __VA_ARGS__))

/* Reports that |what| ("queue") called |name| is there already, since |first|. */
void section_duplicate(SectionReader *reader, SourceLoc loc, const char *what, StringView name, SourceLoc first);

#endif
