/* The sections and keys of a `.vpt` file: one table that reader and printer share. */
#ifndef XLAC_HLO_MACHINE_DESCRIPTION_VPT_SCHEMA_INTERNAL_H
#define XLAC_HLO_MACHINE_DESCRIPTION_VPT_SCHEMA_INTERNAL_H

#include "base/array.h"
#include "base/section_reader.h"
#include "hlo/machine/description/machine_description.h"

/* A flag of keys: for queues that transfer only. */
enum { VPT_TRANSFER = SECTION_OWN };

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

/* The object that [op TYPE] fills.  The costs come first, so that their keys fit a MachineOpCosts too. */
typedef struct VptOpDraft {
  MachineOpCosts costs;
  PrimitiveType inherit; /* TYPE_INVALID: none */
  double scale;
} VptOpDraft;

/* What the open sections fill that are no part of the MachineDescription, the reader's target: its context. */
typedef struct VptDraft {
  ARRAY(MachineQueue) queues;
  MachineQueue queue;
  VptOpDraft op;
  PrimitiveType op_type;
} VptDraft;

/* Objects: MachineQueue for [queue], VptOpDraft for [op], the MachineDescription for all others. */
const SectionSchema *vpt_schema(void);
const SectionRule *vpt_section(VptSectionId id);

/* What the schema calls (machine_parser.c): elements of [queue NAME] and [op TYPE] as they open and close, and keys
 * that are types: of 'unit', 1 is TYPE_INVALID. */
void *vpt_open_queue(SectionReader *reader, StringView name, SourceLoc loc);
void *vpt_open_op(SectionReader *reader, StringView name, SourceLoc loc);
bool vpt_queue_needs(const SectionReader *reader, const SectionKey *key);
bool vpt_op_needs(const SectionReader *reader, const SectionKey *key);
void vpt_close_queue(SectionReader *reader);
void vpt_close_op(SectionReader *reader);
void vpt_set_unit(SectionReader *reader, StringView text, SourceLoc loc, void *place);
void vpt_set_type(SectionReader *reader, StringView text, SourceLoc loc, void *place);

/* The cost taken where |cost| is not given; itself when it has to be. */
MachineCost vpt_cost_fallback(MachineCost cost);

#endif
