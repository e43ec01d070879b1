/* What the units of hlo/ir share among themselves. */
#ifndef XLAC_HLO_IR_HLO_IR_INTERNAL_H
#define XLAC_HLO_IR_HLO_IR_INTERNAL_H

#include "hlo/ir/hlo_module.h"

/* |name| itself when free, else its stem with the next free ".N"; entered in |used|. */
StringView hlo_unique_name(StringMap *used, Arena *arena, StringView name);

/* An instruction with uses entered, not yet in the computation's list. */
HloInstruction *hlo_instruction_create(HloComputation *computation, HloOpcode opcode, const Shape *shape,
                                       HloInstruction *const *operands, int operand_count, StringView name);

/* Ends all that |instruction| uses: operands' users, control predecessors' successors.  Operands stay readable. */
void hlo_instruction_detach(HloInstruction *instruction);

/* As hlo_instruction_has_side_effect, where |effects| says by id which computations have some, in themselves or in what
 * they call. */
bool hlo_instruction_has_effect(const HloInstruction *instruction, const bool *effects);

/* |attr| with other computations and instructions. */
typedef struct HloAttrRemap {
  Arena *arena;
  const IntMap *instructions; /* old → new; those not in the map are dropped from lists; NULL: all are */
  const IntMap *computations; /* old → new; those not in the map stay; NULL: all do */
} HloAttrRemap;
HloAttr hlo_attr_remap(const HloAttr *attr, const HloAttrRemap *remap);

/* The value with everything it points to copied into |arena|, except computations and instructions. */
HloAttr hlo_attr_deep_copy(const HloAttr *attr, Arena *arena);

OriginNode hlo_origin_node_copy(const OriginNode *node, Arena *arena);
const FrontendAttribute *hlo_frontend_copy(const FrontendAttribute *attributes, int64_t count, Arena *arena);

/* Computations called from |computation|, directly or not, callees first, |computation| itself last; appended to |list|
 * unless marked in |seen| (indexed by computation id). */
void hlo_computation_collect_callees(HloComputation *computation, Arena *arena, bool *seen, HloComputationArray *list);

/* By computation id: true for those that a schedule orders.  None unless the module is scheduled; the computations of
 * fusions never are, as in XLA. */
bool *hlo_module_scheduled_computations(const HloModule *module, Arena *arena);

/* --- text --- */

/* A name where the text has one; '%' is put before it if |percent| or if XLA would take the bare word for something
 * else. */
void hlo_name_print(StringBuilder *out, StringView name, bool percent);

/* "1,2,3" without braces */
void hlo_int_list_print(StringBuilder *out, const int64_t *values, int64_t count);
/* "[4,2]T(1,0)"; a single dimension has no T. */
void hlo_iota_tile_print(StringBuilder *out, const IotaTile *iota);
/* "mesh['x'=2,'y'=4]" with ", device_ids=(…)" if any, "maximal_mesh[device_id=3]" */
void hlo_mesh_print(StringBuilder *out, const Mesh *mesh);
/* "{'x', 'y':(1)2, ?}" */
void hlo_axis_refs_print(StringBuilder *out, const MeshAxisRefs *refs);

#endif
