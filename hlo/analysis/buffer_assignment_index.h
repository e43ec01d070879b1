/* What BufferAssignment.index points to: made by passes/buffers, read by buffer_assignment.c. */
#ifndef XLAC_HLO_ANALYSIS_BUFFER_ASSIGNMENT_INDEX_H
#define XLAC_HLO_ANALYSIS_BUFFER_ASSIGNMENT_INDEX_H

#include <stdint.h>

typedef struct BufferAssignmentIndex {
  int32_t instruction_limit; /* ids below it are known */
  int32_t position_count;
  const int32_t *first_positions; /* by instruction id: the position of node 0; -1: none */
  const int32_t *values_at;       /* by position: number of the value, -1: none */
  const int32_t *scratch_of;      /* by instruction id: number of its scratch + 1, 0: none; NULL: none at all */
} BufferAssignmentIndex;

#endif
