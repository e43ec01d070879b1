/* The evaluator: what a module means, computed literally.
 *
 * It is the oracle of differential tests and serves constant folding: clarity over speed, no dependence on layouts,
 * passes or the machine.  hlo/eval/README.md lists the rules (wrapping integers, division by zero, NaN, rounding). */
#ifndef XLAC_HLO_EVAL_HLO_EVALUATOR_H
#define XLAC_HLO_EVAL_HLO_EVALUATOR_H

#include "hlo/ir/device_groups.h"

/* The caller's part of an evaluation: executes instructions that lead out of the module, custom calls and host
 * transfers, and lets devices meet.
 *
 * One evaluation is one device's.  Several run at the same time, each in a thread of its own, on one module, with a
 * host each; what they do together is asked of it. */
typedef struct HloHost {
  void *self;
  /* Computes |instruction| for |operands| into |result|, whose storage has the instruction's shape. */
  Status (*execute)(void *self, const HloInstruction *instruction, const Literal *const *operands, DiagSink *diag,
                    Literal *result);

  /* The rest is for several devices; |devices| all zero: the module is evaluated as if there were one. */
  DeviceCounts devices;
  int64_t device; /* flat id of the one that is evaluated */
  /* Waits until all |members|, flat ids in listed order with this device among them, are at |instruction|, and fills
   * |out_contributions| with the |contribution| of each; these may be read until the release, which waits until all
   * members have come to it.  An error, which the host tells, when they can never all be there; there is no release
   * then. */
  Status (*exchange)(void *self, const HloInstruction *instruction, Int64List members, const void *contribution,
                     DiagSink *diag, const void **out_contributions);
  void (*release)(void *self);
  /* Begins to send |data| to device |peer|, or to receive them, for a send or recv, and gives it a number; |data| live
   * until the end by 'complete', which waits until they are there or gone. */
  int64_t (*announce)(void *self, const HloInstruction *transfer, int64_t peer, Literal *data);
  Status (*complete)(void *self, const HloInstruction *done, int64_t number, DiagSink *diag);
  /* Once, at the end of every evaluation: the data of transfers that are not complete go away. */
  void (*withdraw)(void *self);
} HloHost;

/* The result of the entry for |arguments| (by parameter number, of the parameters' shapes up to layout), in |arena|
 * with the shape of the root.  Arguments are read only and not referred to by the result.  |module| has to be verified.
 * Instructions run in an order that data, tokens and control predecessors allow.  |host| may be NULL.  What has no
 * meaning here (without a host communication with other devices and custom calls, sizes set at run time on several
 * devices): STATUS_UNSUPPORTED and a located
 * diagnostic, code "eval".  Loops that do not end are evaluated for ever.  |memory_limit| bounds the bytes of all
 * values that instructions make, each once for every call site that leads to it; beyond it STATUS_EXHAUSTED with a
 * located diagnostic (code "memory-limit") before they are allocated.  0: no limit. */
MUST_USE Status hlo_evaluate(Arena *arena, const HloModule *module, const Literal *const *arguments,
                             const HloHost *host, int64_t memory_limit, DiagSink *diag, Literal **out_result);

/* The same for any computation of a verified module. */
MUST_USE Status hlo_evaluate_computation(Arena *arena, const HloComputation *computation,
                                         const Literal *const *arguments, DiagSink *diag, Literal **out_result);

/* The value of |instruction|, all of whose operands, and theirs in turn, lead to constants and to instructions without
 * operands; for constant folding, so the caller sees to it that it is small and ends. */
MUST_USE Status hlo_evaluate_instruction(Arena *arena, const HloInstruction *instruction, DiagSink *diag,
                                         Literal **out_result);

#endif
