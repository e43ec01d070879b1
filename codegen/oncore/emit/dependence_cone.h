/* What depends on one element of an array, in a module's entry: how much of each later array, of the work on it, and of
 * the arguments that it meets there; at least, whichever element it is.  And what an array depends on as a whole.
 *
 * Fusions are looked into: a step is an instruction of the entry, or one inside of one of its fusions.  Of loops,
 * branches and whatever has no rule here nothing is known to depend, which is less than the truth. */
#ifndef XLAC_CODEGEN_ONCORE_EMIT_DEPENDENCE_CONE_H
#define XLAC_CODEGEN_ONCORE_EMIT_DEPENDENCE_CONE_H

#include "base/array.h"
#include "hlo/ir/hlo_module.h"

enum { CONE_MOST_RANK = 8 };

/* So many indices along each dim, and all that they make together; |any| false: nothing. */
typedef struct ConePart {
  bool any;
  bool is_scattered; /* the indices along a dim do not follow one another */
  int64_t counts[CONE_MOST_RANK];
} ConePart;

typedef struct ConeGraph {
  int32_t count;
  const HloInstruction **steps;   /* what is used comes first, a fusion after what is inside of it */
  const HloInstruction **fusions; /* by step: inside of which one it is, NULL: the entry's */
  int32_t *step_of;               /* by instruction id, -1: it is none */
} ConeGraph;

/* Bytes of an argument that step |step| reads for what is in the cone. */
typedef struct ConeDemand {
  int32_t step;
  int64_t parameter;
  double bytes;
} ConeDemand;

typedef struct Cone {
  const ConePart *parts; /* by step */
  double *shares;        /* by step: of its work, 0 to 1 */
  ARRAY(ConeDemand) demands;
} Cone;

/* Of |module|'s entry, in |arena|; false where two fusions share a computation. */
bool cone_graph_make(Arena *arena, const HloModule *module, ConeGraph *out_graph);

/* What depends on any one element of |from|, which has an array of at most CONE_MOST_RANK dims.  |is_known|, by
 * instruction id: no data makes it, so that a selection by it may be none.  In |arena|. */
void cone_find(Arena *arena, const ConeGraph *graph, const bool *is_known, int32_t from, Cone *out_cone);

/* By step: whether all of its elements are needed for |target|, all of it. */
void cone_needed(Arena *arena, const ConeGraph *graph, const bool *is_known, int32_t target, bool *out_needed);

/* Elements of |part| of |shape|. */
double cone_part_volume(const ConePart *part, const Shape *shape);

#endif
