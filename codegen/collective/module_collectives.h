/* The collectives of a module in the order of its program: what an object says of them (XlacCollective in xlac/abi.h),
 * before there is code.  Includes nothing of LLVM. */
#ifndef XLAC_CODEGEN_COLLECTIVE_MODULE_COLLECTIVES_H
#define XLAC_CODEGEN_COLLECTIVE_MODULE_COLLECTIVES_H

#include "base/diagnostic.h"
#include "base/hash_map.h"
#include "hlo/ir/device_groups.h"
#include "hlo/ir/hlo_module.h"
#include "xlac/abi.h"

typedef struct ModuleCollective {
  const HloInstruction *start;      /* where it begins: the instruction itself, or the async-start that wraps it */
  const HloInstruction *collective; /* what it does */
  int32_t kind, reducer;            /* XlacCollectiveKind, XlacReducer or 0 */
  bool is_asynchronous;             /* another instruction ends it */
  DeviceGroups groups;
  DevicePairs pairs;
  int64_t buffer_count;
  XlacCollectiveBuffer *buffers;
} ModuleCollective;

typedef struct ModuleCollectives {
  DeviceCounts devices;
  int64_t count;
  const ModuleCollective *data; /* called computations stand where they are called, each once */
  uint64_t hash;                /* of all that devices have to agree on: kinds, sizes, members, order, nesting */
  bool is_conditional;          /* some stand in a branch, or in a loop of which constants do not say how often it
                                   runs; or a send has no receive */
  IntMap numbers;               /* id of |start| → index */
} ModuleCollectives;

/* Those of a scheduled |module|, in |arena|.  A located error for groups that do not fit the module's devices
 * ("device-groups"), and for what no engine is asked for: a reducer without an XlacReducer, operands and results of
 * several layouts ("unsupported-op").  Linear in the instructions, and in devices for each collective. */
MUST_USE Status module_collectives_create(Arena *arena, const HloModule *module, DiagSink *diag,
                                          const ModuleCollectives **out_collectives);

/* Whether an object for |module| calls an engine of communication, or asks which device it runs on. */
bool module_needs_devices(const HloModule *module);

/* The collective that begins at |start|, or that |end| ends, an end of one that is asynchronous; -1: none.
 * |collectives| may be NULL. */
int64_t module_collectives_at(const ModuleCollectives *collectives, const HloInstruction *start);
int64_t module_collectives_ended(const ModuleCollectives *collectives, const HloInstruction *end);

#endif
