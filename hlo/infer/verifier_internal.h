/* What the parts of the verifier share.  Each part reports what it finds and goes on; none returns a Status. */
#ifndef XLAC_HLO_INFER_VERIFIER_INTERNAL_H
#define XLAC_HLO_INFER_VERIFIER_INTERNAL_H

#include "hlo/infer/hlo_verifier.h"
#include "hlo/ir/device_count.h"

typedef struct Verifier {
  const HloModule *module;
  DiagSink *diag;
  Arena *arena;             /* lives as long as the run */
  Arena *scratch;           /* reset after each instruction */
  IntMap shapes;            /* shapes seen: ShapeFacts; each wrong shape is reported once */
  IntMap channels;          /* of host transfers: the first of each */
  StringMap buffer_writers; /* who made a buffer and where in its result: the first writer */
  IntMap loop_computations; /* bodies and conditions of loops, once |knows_loops| */
  bool knows_loops;
  const HloInstruction *all_reduce; /* the first, NULL: none yet */
  bool has_failed;
} Verifier;

void verify_error(Verifier *verifier, SourceLoc loc, const char *code, const char *format, ...) PRINTF_LIKE(4, 5);
/* At the attribute if it has a position, else at the instruction. */
void verify_attr_error(Verifier *verifier, const HloInstruction *instruction, HloAttrId id, const char *code,
                       const char *format, ...) PRINTF_LIKE(5, 6);
const char *verify_text(Verifier *verifier, const Shape *shape);

/* The graph itself: names, operands, order, roots, parameters, calls.  Other parts rely on it, so nothing runs after it
 * failed. */
void verify_structure(Verifier *verifier);

/* Module header: entry layout, aliases, donors. */
void verify_header(Verifier *verifier);

/* --- per instruction --- */

enum { SHAPE_IS_VALID = 1, SHAPE_HAS_BUFFER = 2, SHAPE_WAS_SEEN = 4 };

/* Layouts, sizes and types of |shape|, reported at |loc|. */
int verify_shape(Verifier *verifier, const Shape *shape, SourceLoc loc);
/* The stated shape against the inferred one, implicit broadcasts, mixed precision, buffers. */
void verify_instruction_shape(Verifier *verifier, const HloInstruction *instruction);
/* Buffers: who may hand them on, and that each has one writer. */
void verify_buffers(Verifier *verifier, const HloInstruction *instruction);
/* True for custom calls that make arrays buffers, and buffers arrays. */
bool verify_pins(const HloInstruction *call);
/* Attributes that inference does not look at. */
void verify_attributes(Verifier *verifier, const HloInstruction *instruction);
void verify_sharding(Verifier *verifier, const HloInstruction *instruction);
/* Fusions, threads. */
void verify_calls(Verifier *verifier, const HloInstruction *instruction);
/* Replica groups, channels, permutations, and sizes that depend on the number of participants. */
void verify_collective(Verifier *verifier, const HloInstruction *instruction);
/* Transfers with the host on one channel are alike. */
void verify_host_channel(Verifier *verifier, const HloInstruction *transfer);
/* All-reduces agree on 'constrain_layout'. */
void verify_constrained_layout(Verifier *verifier, const HloInstruction *instruction);
/* Start, update and done operations. */
void verify_pairing(Verifier *verifier, const HloInstruction *instruction);

#endif
