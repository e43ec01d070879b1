/* As many devices as there are, where the text has a mesh of another number of them: what it divides along axes that
 * there is no room for stays whole, and devices that it has no axes for hold copies. */
#include "passes/spmd/propagation_internal.h"

enum { NO_AXIS = 0xff };

typedef struct MeshFit {
  uint8_t axes[SPMD_MOST_AXES]; /* the new mesh's, by the text's; NO_AXIS: none */
} MeshFit;

/* Axes are kept from the slowest on while their product divides the number of devices; copies come before them all. */
static const SpmdMesh *fitted_mesh(Propagation *propagation, MeshFit *fit) {
  const SpmdMesh *text = propagation->mesh;
  int64_t rest = propagation->module->num_partitions;
  int64_t *sizes = ARENA_NEW_ARRAY(propagation->arena, int64_t, text->axis_count + 1);
  bool kept[SPMD_MOST_AXES] = {false};
  for (int a = 0; a < text->axis_count; a++) {
    kept[a] = rest % text->sizes[a] == 0;
    if (kept[a]) rest /= text->sizes[a];
  }
  int count = 0;
  sizes[count++] = rest;
  for (int a = 0; a < text->axis_count; a++) {
    if (kept[a]) sizes[count++] = text->sizes[a];
  }
  int *firsts = ARENA_NEW_ARRAY(propagation->arena, int, count + 1);
  const SpmdMesh *mesh = spmd_mesh_create(propagation->arena, sizes, count, NULL, firsts);
  for (int a = 0, next = firsts[1]; a < text->axis_count; a++) fit->axes[a] = kept[a] ? (uint8_t)next++ : NO_AXIS;
  return mesh;
}

static AxisList fitted_list(Arena *arena, const MeshFit *fit, AxisList axes) {
  uint8_t *list = ARENA_NEW_ARRAY(arena, uint8_t, axes.count + 1);
  int count = 0;
  for (int i = 0; i < axes.count; i++) {
    if (fit->axes[axes.axes[i]] != NO_AXIS) list[count++] = fit->axes[axes.axes[i]];
  }
  return (AxisList){count, list};
}

static Status fit_values(Propagation *propagation, HloInstruction *instruction, void *context) {
  const MeshFit *fit = context;
  if (propagation->outsides[instruction->id] != NULL)
    return diag_error(propagation->diag, STATUS_INVALID, instruction->loc, "sharding",
                      "the manual region is for another number of devices than the %lld that there are",
                      (long long)propagation->module->num_partitions);
  for (int i = 0; i < shape_leaf_count(instruction->shape); i++) {
    ValueState *state = &propagation->values[instruction->id][i];
    for (int d = 0; d < state->rank; d++) state->dims[d] = fitted_list(propagation->arena, fit, state->dims[d]);
    AxisMask taken = state->taken;
    state->taken = 0;
    for (int a = 0; a < propagation->mesh->axis_count; a++) {
      if ((taken >> a & 1) && fit->axes[a] != NO_AXIS) state->taken |= (AxisMask)1 << fit->axes[a];
    }
    state->order = NULL;
  }
  return STATUS_OK;
}

Status propagation_fit_mesh(Propagation *propagation) {
  if (propagation->mesh->device_count == propagation->module->num_partitions) return STATUS_OK;
  MeshFit fit;
  const SpmdMesh *mesh = fitted_mesh(propagation, &fit);
  RETURN_IF_ERROR(propagation_for_each(propagation, fit_values, &fit));
  propagation->mesh = mesh;
  return STATUS_OK;
}
