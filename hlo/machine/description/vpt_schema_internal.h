/* The sections and keys of a `.vpt` file: one table that reader and printer share. */
#ifndef XLAC_HLO_MACHINE_DESCRIPTION_VPT_SCHEMA_INTERNAL_H
#define XLAC_HLO_MACHINE_DESCRIPTION_VPT_SCHEMA_INTERNAL_H

#include "hlo/machine/description/machine_description.h"

typedef enum VptValueKind {
  VPT_TEXT,  /* StringView */
  VPT_COUNT, /* int64_t */
  VPT_SIZE,  /* int64_t, suffixes K M G */
  VPT_RATE,  /* double */
  VPT_WORD,  /* an enum: the position in |words| */
  VPT_UNIT,  /* PrimitiveType; "1": TYPE_INVALID */
  VPT_TYPE   /* PrimitiveType */
} VptValueKind;

enum { VPT_NEEDED = 1 << 0, VPT_POSITIVE = 1 << 1, VPT_TRANSFER = 1 << 2 /* for queues that transfer only */ };

typedef struct VptKey {
  const char *name;
  VptValueKind kind;
  unsigned flags;
  size_t offset; /* in the section's object */
  const char *words;
} VptKey;

typedef enum VptSectionId {
  VPT_MACHINE,
  VPT_BUFFER,
  VPT_VECTOR,
  VPT_MEMORY,
  VPT_QUEUE,
  VPT_SYNC,
  VPT_ISA,
  VPT_OP,
  VPT_SECTION_COUNT
} VptSectionId;

typedef struct VptSection {
  const char *name;
  const char *argument; /* what stands after the name; NULL: nothing */
  bool needed;
  size_t loc_offset; /* of its SourceLoc in the object */
  int key_count;     /* at most VPT_MAX_KEYS */
  const VptKey *keys;
} VptSection;

#define VPT_MAX_KEYS 32

/* The object that [op TYPE] fills.  The costs come first, so that their keys fit a MachineOpCosts too. */
typedef struct VptOpDraft {
  MachineOpCosts costs;
  PrimitiveType inherit; /* TYPE_INVALID: none */
  double scale;
} VptOpDraft;

/* Objects: MachineQueue for [queue], VptOpDraft for [op], the MachineDescription for all others. */
const VptSection *vpt_section(VptSectionId id);

/* The cost taken where |cost| is not given; itself when it has to be. */
MachineCost vpt_cost_fallback(MachineCost cost);

#endif
