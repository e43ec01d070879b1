/* Text of the parts that shardings and replica groups have in common. */
#ifndef XLAC_HLO_IR_HLO_SHARDING_PRINT_H
#define XLAC_HLO_IR_HLO_SHARDING_PRINT_H

#include "hlo/ir/hlo_attribute.h"

/* "1,2,3" with the given separator, no braces. */
void hlo_int_list_print(StringBuilder *out, const int64_t *values, int64_t count, const char *separator);
/* "[4,2]T(1,0)"; a single dimension has no T. */
void hlo_iota_tile_print(StringBuilder *out, const IotaTile *iota);
/* "mesh['x'=2,'y'=4]" with ", device_ids=(…)" if any, "maximal_mesh[device_id=3]" */
void hlo_mesh_print(StringBuilder *out, const Mesh *mesh);
/* "{'x', 'y':(1)2, ?}" */
void hlo_axis_refs_print(StringBuilder *out, const MeshAxisRefs *refs);

#endif
