/* How propagation begins: what the module's text says of its values, in Shardy's words or in HLO's. */
#include <string.h>

#include "base/array.h"
#include "base/checked_math.h"
#include "base/hash_map.h"
#include "hlo/ir/custom_call.h"
#include "hlo/ir/device_mesh.h"
#include "hlo/ir/sharding_tiles.h"
#include "passes/spmd/propagation_internal.h"
#include "passes/spmd/shardy_text.h"

typedef struct Constraints {
  Propagation *propagation;
  ShardyMeshes meshes; /* none: the text has HLO's shardings alone */
  AxisMask *border_axes;
  bool *enters;
} Constraints;

/* --- walking --- */

Status propagation_for_each(Propagation *propagation, PropagationVisit *visit, void *context) {
  const HloComputationArray *computations = &propagation->module->computations;
  for (int64_t c = 0; c < computations->count; c++) {
    HloComputation *computation = computations->data[c];
    if (propagation->applied[computation->id]) continue;
    for (int64_t i = 0; i < computation->instructions.count; i++)
      RETURN_IF_ERROR(visit(propagation, computation->instructions.data[i], context));
  }
  return STATUS_OK;
}

static Status wrong(const Propagation *propagation, const HloInstruction *instruction, const char *message) {
  return diag_error(propagation->diag, STATUS_INVALID, instruction->loc, "sharding", "'%.*s': %s",
                    SV_ARG(instruction->name), message);
}

/* --- the mesh --- */

/* Shapes of device arrays that shardings name, each once, and how many shardings a mesh of such a shape has axes for.
 */
typedef struct MeshCandidate {
  const SpmdMesh *mesh;
  int64_t expressed;
} MeshCandidate;

typedef struct MeshSearch {
  int64_t device_count;
  ARRAY(const HloSharding *) shardings; /* tiled ones */
  ARRAY(MeshCandidate) candidates;
} MeshSearch;

static void add_tiled(Propagation *propagation, MeshSearch *search, const HloSharding *sharding) {
  if (sharding->kind == SHARDING_TUPLE) {
    for (int64_t i = 0; i < sharding->tuple_count; i++) add_tiled(propagation, search, &sharding->tuple[i]);
  } else if (sharding->kind == SHARDING_TILED || sharding->kind == SHARDING_MESH) {
    array_push(&search->shardings, propagation->arena, sharding);
  }
}

static Status add_shardings(Propagation *propagation, HloInstruction *instruction, void *context) {
  const HloSharding *sharding = hlo_instruction_sharding(instruction);
  if (sharding != NULL) add_tiled(propagation, context, sharding);
  return STATUS_OK;
}

static void add_candidate(Propagation *propagation, MeshSearch *search, const SpmdMesh *mesh) {
  enum { MOST_CANDIDATES = 16 };
  if (mesh->device_count != search->device_count || search->candidates.count >= MOST_CANDIDATES) return;
  for (int64_t i = 0; i < search->candidates.count; i++) {
    const SpmdMesh *known = search->candidates.data[i].mesh;
    bool is_same = known->axis_count == mesh->axis_count && known->devices == mesh->devices &&
                   memcmp(known->sizes, mesh->sizes, (size_t)mesh->axis_count * sizeof *mesh->sizes) == 0;
    if (is_same) return;
  }
  MeshCandidate candidate = {mesh, 0};
  array_push(&search->candidates, propagation->arena, candidate);
}

static void add_candidates(Propagation *propagation, MeshSearch *search, const HloSharding *sharding) {
  Arena *arena = propagation->arena;
  if (sharding->kind == SHARDING_TILED && sharding->iota != NULL) {
    const IotaTile *iota = sharding->iota;
    add_candidate(propagation, search, spmd_mesh_create(arena, iota->reshape_dims, iota->rank, NULL, NULL));
  } else if (sharding->kind == SHARDING_TILED && sharding->devices.count > 0) {
    add_candidate(propagation, search,
                  spmd_mesh_create(arena, sharding->tile_dims.data, (int)sharding->tile_dims.count, NULL, NULL));
    add_candidate(propagation, search,
                  spmd_mesh_create(arena, sharding->tile_dims.data, (int)sharding->tile_dims.count,
                                   sharding->devices.data, NULL));
  } else if (sharding->kind == SHARDING_MESH && sharding->mesh != NULL && !sharding->mesh->is_maximal) {
    int64_t *sizes = ARENA_NEW_ARRAY(arena, int64_t, sharding->mesh->axis_count + 1);
    for (int i = 0; i < sharding->mesh->axis_count; i++) sizes[i] = sharding->mesh->axes[i].size;
    add_candidate(propagation, search, spmd_mesh_create(arena, sizes, sharding->mesh->axis_count, NULL, NULL));
  }
}

static int sharding_rank(const HloSharding *sharding) {
  return sharding->kind == SHARDING_MESH ? (int)sharding->mesh_dim_count
                                         : (int)(sharding->tile_dims.count - sharding->last_tile_dims.count);
}

static int64_t devices_of(const HloSharding *sharding) {
  int64_t devices = 1;
  if (sharding->kind == SHARDING_MESH) return sharding->mesh == NULL ? 1 : mesh_device_count(sharding->mesh);
  for (int64_t i = 0; i < sharding->tile_dims.count; i++) devices *= sharding->tile_dims.data[i];
  return devices;
}

/* As many as there are, where any sharding is for so many; else as the first one is for. */
static int64_t devices_of_text(const Propagation *propagation, const MeshSearch *search) {
  int64_t wanted = propagation->module->num_partitions;
  for (int64_t i = 0; i < search->shardings.count; i++) {
    if (devices_of(search->shardings.data[i]) == wanted) return wanted;
  }
  return search->shardings.count > 0 ? devices_of(search->shardings.data[0]) : wanted;
}

/* The mesh that has axes for the most shardings; of equal ones the first that the text shows. */
static void choose_mesh(Propagation *propagation, MeshSearch *search) {
  Arena *arena = propagation->arena;
  int64_t partitions = search->device_count = devices_of_text(propagation, search);
  for (int64_t i = 0; i < search->shardings.count; i++) add_candidates(propagation, search, search->shardings.data[i]);
  add_candidate(propagation, search, spmd_mesh_create(arena, &partitions, 1, NULL, NULL));
  for (int64_t c = 0; c < search->candidates.count; c++) {
    MeshCandidate *candidate = &search->candidates.data[c];
    for (int64_t i = 0; i < search->shardings.count && search->candidates.count > 1; i++) {
      const HloSharding *sharding = search->shardings.data[i];
      const AxisSharding *axes;
      DiagSink ignored;
      diag_sink_init(&ignored, arena);
      if (axis_sharding_from_hlo(arena, candidate->mesh, sharding, sharding_rank(sharding), NO_LOC, &ignored, &axes) ==
          STATUS_OK)
        candidate->expressed += axes->order == NULL;
    }
  }
  const MeshCandidate *best = &search->candidates.data[0];
  for (int64_t c = 1; c < search->candidates.count; c++) {
    if (search->candidates.data[c].expressed > best->expressed) best = &search->candidates.data[c];
  }
  propagation->mesh = best->mesh;
}

static const FrontendAttribute *module_frontend(const HloModule *module, const char *key) {
  for (int64_t i = 0; i < module->frontend_count; i++) {
    if (sv_equal_cstring(module->frontend[i].key, key)) return &module->frontend[i];
  }
  return NULL;
}

static ShardySource source_of(const Propagation *propagation, const char *attribute, SourceLoc loc) {
  return (ShardySource){propagation->arena, sv_from_cstring(attribute), loc, propagation->diag};
}

static Status find_mesh(Constraints *constraints) {
  Propagation *propagation = constraints->propagation;
  HloModule *module = propagation->module;
  const FrontendAttribute *meshes = module_frontend(module, "xla.sdy.meshes");
  if (meshes != NULL) {
    ShardySource source = source_of(propagation, "xla.sdy.meshes", module->loc);
    RETURN_IF_ERROR(shardy_read_meshes(&source, meshes->value, &constraints->meshes));
  }
  for (int i = 0; i < constraints->meshes.count && propagation->mesh == NULL; i++) {
    const SpmdMesh *mesh = constraints->meshes.data[i].mesh;
    if (mesh != NULL && mesh->device_count == module->num_partitions) propagation->mesh = mesh;
  }
  if (propagation->mesh != NULL) return STATUS_OK;
  for (int i = 0; i < constraints->meshes.count && propagation->mesh == NULL; i++)
    propagation->mesh = constraints->meshes.data[i].mesh;
  if (propagation->mesh != NULL) return STATUS_OK;
  MeshSearch search = {0};
  RETURN_IF_ERROR(propagation_for_each(propagation, add_shardings, &search));
  choose_mesh(propagation, &search);
  return STATUS_OK;
}

/* --- values --- */

static void all_open(Arena *arena, ValueState *state, bool is_open) {
  bool *open = ARENA_NEW_ARRAY(arena, bool, state->rank + 1);
  for (int d = 0; d < state->rank; d++) open[d] = is_open;
  state->is_open = open;
}

static ValueState *new_states(Propagation *propagation, const HloInstruction *instruction) {
  Arena *arena = propagation->arena;
  ValueState *states = ARENA_NEW_ARRAY(arena, ValueState, shape_leaf_count(instruction->shape) + 1);
  for (int node = 0, leaf = 0; node < shape_node_count(instruction->shape); node++) {
    const Shape *shape = shape_node(instruction->shape, node);
    if (shape_is_tuple(shape)) continue;
    ValueState *state = &states[leaf];
    *state = (ValueState){.owner = instruction, .leaf = leaf++, .rank = shape_is_array(shape) ? shape->rank : -1};
    state->dims = ARENA_NEW_ARRAY(arena, AxisList, max_i64(state->rank, 0) + 1);
    state->is_dynamic = shape_is_dynamic(shape);
    all_open(arena, state, !state->is_dynamic);
  }
  return states;
}

/* |sharding| holds, and what it leaves whole stays whole; of an array whose size is set at run time nothing holds. */
static void fix(Propagation *propagation, ValueState *state, const AxisSharding *sharding) {
  if (state->is_dynamic) return;
  state->dims = ARENA_COPY_ARRAY(propagation->arena, AxisList, sharding->dims, sharding->rank);
  state->order = sharding->order;
  state->is_given = true;
  all_open(propagation->arena, state, false);
}

/* Axes of another mesh of the module, as this one's. */
static Status translate(Propagation *propagation, const ShardyMesh *mesh, const AxisSharding *sharding, SourceLoc loc,
                        const AxisSharding **out) {
  *out = sharding;
  if (mesh->mesh == propagation->mesh) return STATUS_OK;
  if (mesh->mesh != NULL && mesh->mesh->device_count != propagation->mesh->device_count)
    return diag_error(propagation->diag, STATUS_UNSUPPORTED, loc, "sharding",
                      "mesh '%.*s' has %lld devices, the others %lld", SV_ARG(mesh->name),
                      (long long)mesh->mesh->device_count, (long long)propagation->mesh->device_count);
  const HloSharding *hlo = mesh->mesh == NULL ? NULL : axis_sharding_to_hlo(propagation->arena, mesh->mesh, sharding);
  return axis_sharding_from_hlo(propagation->arena, propagation->mesh, hlo, sharding->rank, loc, propagation->diag,
                                out);
}

static Status constrain_by_shardy(Propagation *propagation, const HloInstruction *instruction, ValueState *state,
                                  const ShardySharding *given) {
  if (state->rank < 0 || state->is_dynamic) return STATUS_OK;
  if (given->rank != state->rank) return wrong(propagation, instruction, "its sharding is of another rank");
  Arena *arena = propagation->arena;
  AxisSharding *axes = axis_sharding_replicated(arena, state->rank, 0);
  AxisList *dims = ARENA_NEW_ARRAY(arena, AxisList, state->rank + 1);
  bool *open = ARENA_NEW_ARRAY(arena, bool, state->rank + 1);
  int64_t *priorities = ARENA_NEW_ARRAY(arena, int64_t, state->rank + 1);
  for (int d = 0; d < state->rank; d++) {
    dims[d] = given->dims[d].axes;
    open[d] = given->dims[d].is_open;
    priorities[d] = given->dims[d].priority;
  }
  axes->dims = dims;
  const AxisSharding *translated;
  RETURN_IF_ERROR(translate(propagation, given->mesh, axes, instruction->loc, &translated));
  fix(propagation, state, translated);
  state->is_open = open;
  state->priorities = priorities;
  if (given->mesh->mesh == propagation->mesh) state->taken |= given->replicated;
  return STATUS_OK;
}

static Status constrain_by_hlo(Propagation *propagation, const HloInstruction *instruction, ValueState *state,
                               int leaf) {
  const HloSharding *given = hlo_sharding_of_leaf(hlo_instruction_sharding(instruction), leaf);
  const AxisSharding *sharding;
  if (given == NULL || state->rank < 0 || given->kind == SHARDING_UNKNOWN) return STATUS_OK;
  RETURN_IF_ERROR(axis_sharding_from_hlo(propagation->arena, propagation->mesh, given, state->rank, instruction->loc,
                                         propagation->diag, &sharding));
  fix(propagation, state, sharding);
  return STATUS_OK;
}

/* backend_config="unspecified_dims=[0,1]" leaves these open. */
static void open_unspecified(Propagation *propagation, const HloInstruction *call, ValueState *state) {
  const HloAttr *config = hlo_instruction_attr(call, HLO_ATTR_BACKEND_CONFIG);
  if (config == NULL || !sv_starts_with(config->value.text, SV("unspecified_dims=["))) return;
  bool *open = ARENA_NEW_ARRAY(propagation->arena, bool, state->rank + 1);
  int64_t dim = 0;
  bool has_digit = false;
  for (size_t i = SV("unspecified_dims=[").size; i < config->value.text.size; i++) {
    char c = config->value.text.data[i];
    if (char_is_digit(c) && dim < SHAPE_MAX_RANK) {
      dim = dim * 10 + (c - '0');
      has_digit = true;
    } else {
      if (has_digit && dim < state->rank) open[dim] = true;
      has_digit = false;
      dim = 0;
    }
  }
  state->is_open = open;
}

/* --- instruction by instruction --- */

static Status shardy_values(Constraints *constraints, const HloInstruction *instruction, const char *attribute,
                            ValueState *states, int leaves) {
  Propagation *propagation = constraints->propagation;
  ShardySource source = source_of(propagation, attribute, instruction->loc);
  const FrontendAttribute *text = hlo_instruction_frontend(instruction, attribute);
  int count;
  const ShardySharding *shardings;
  if (text == NULL) return STATUS_OK;
  RETURN_IF_ERROR(shardy_read_shardings(&source, text->value, &constraints->meshes, &count, &shardings));
  if (count != leaves) return wrong(propagation, instruction, "it has more or fewer values than shardings");
  for (int i = 0; i < leaves; i++)
    RETURN_IF_ERROR(constrain_by_shardy(propagation, instruction, &states[i], &shardings[i]));
  return STATUS_OK;
}

/* Whether the header lets propagation choose for leaf |leaf| of the parameters or the result. */
static bool header_allows(const bool *allowed, int64_t count, int64_t leaf) {
  return count == 1 ? allowed[0] : leaf < count && allowed[leaf];
}

/* HLO's shardings alone: parameters and results that have none are whole, unless the header says otherwise. */
static void close_parameters(Propagation *propagation) {
  HloModule *module = propagation->module;
  int64_t leaf = 0;
  for (int64_t i = 0; i < module->entry->parameters.count; i++) {
    const HloInstruction *parameter = module->entry->parameters.data[i];
    for (int k = 0; k < shape_leaf_count(parameter->shape); k++, leaf++) {
      ValueState *state = &propagation->values[parameter->id][k];
      bool may_choose = header_allows(module->spmd_parameters, module->spmd_parameter_count, leaf);
      if (!state->is_given && state->rank >= 0 && !may_choose) all_open(propagation->arena, state, false);
    }
  }
}

static Status begin_values(Propagation *propagation, HloInstruction *instruction, void *context) {
  Constraints *constraints = context;
  ValueState *states = new_states(propagation, instruction);
  int leaves = shape_leaf_count(instruction->shape);
  propagation->values[instruction->id] = states;
  bool has_shardy = constraints->meshes.count > 0, is_call = instruction->opcode == HLO_CUSTOM_CALL;
  if (has_shardy && hlo_instruction_frontend(instruction, "xla.sdy.sharding") != NULL)
    return shardy_values(constraints, instruction, "xla.sdy.sharding", states, leaves);
  /* Beside Shardy's words HLO's have lost what was open: they hold where nothing else is said of what is given. */
  if (has_shardy && !is_call && instruction->opcode != HLO_PARAMETER) return STATUS_OK;
  for (int i = 0; i < leaves; i++) {
    RETURN_IF_ERROR(constrain_by_hlo(propagation, instruction, &states[i], i));
    if (is_call && states[i].rank >= 0) open_unspecified(propagation, instruction, &states[i]);
  }
  return STATUS_OK;
}

/* --- borders --- */

static Status shardy_border(Constraints *constraints, HloInstruction *border, bool enters) {
  Propagation *propagation = constraints->propagation;
  const FrontendAttribute *axes = hlo_instruction_frontend(border, "xla.sdy.manual_axes");
  const ShardyMesh *mesh;
  if (axes == NULL) return wrong(propagation, border, "it does not say its manual axes");
  ShardySource source = source_of(propagation, "xla.sdy.manual_axes", border->loc);
  RETURN_IF_ERROR(shardy_read_manual_axes(&source, axes->value, &constraints->meshes, &mesh,
                                          &constraints->border_axes[border->id]));
  if (mesh->mesh != propagation->mesh)
    return diag_error(propagation->diag, STATUS_UNSUPPORTED, border->loc, "sharding",
                      "a manual region on a mesh other than the first");
  constraints->enters[border->id] = enters;
  propagation->outsides[border->id] = new_states(propagation, border);
  const char *attribute = enters ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings";
  return shardy_values(constraints, border, attribute, propagation->outsides[border->id],
                       shape_leaf_count(border->shape));
}

/* GSPMD's borders are of one array: outside it has the sharding of the operand (into the region) or of the result. */
static Status hlo_border(Constraints *constraints, HloInstruction *border, bool enters) {
  Propagation *propagation = constraints->propagation;
  HloInstruction *inside = enters ? border : border->operands[0], *outside = enters ? border->operands[0] : border;
  const AxisSharding *sharding;
  const HloSharding *given = hlo_instruction_sharding(inside);
  if (!shape_is_array(border->shape) || given == NULL)
    return wrong(propagation, border, "a border of a manual region without a sharding");
  RETURN_IF_ERROR(axis_sharding_from_hlo(propagation->arena, propagation->mesh, given, border->shape->rank, border->loc,
                                         propagation->diag, &sharding));
  AxisMask outer = 0;
  const AxisSharding *around;
  RETURN_IF_ERROR(axis_sharding_from_hlo(propagation->arena, propagation->mesh, hlo_instruction_sharding(outside),
                                         border->shape->rank, border->loc, propagation->diag, &around));
  outer = around->manual;
  constraints->border_axes[border->id] = sharding->manual & ~outer;
  constraints->enters[border->id] = enters;
  propagation->outsides[border->id] = new_states(propagation, border);
  propagation->outsides[border->id][0] = propagation->values[outside->id][0];
  return STATUS_OK;
}

static Status begin_border(Propagation *propagation, HloInstruction *instruction, void *context) {
  (void)propagation;
  if (custom_call_calls(instruction, "xla.sdy.GlobalToLocalShape")) return shardy_border(context, instruction, true);
  if (custom_call_calls(instruction, "xla.sdy.LocalToGlobalShape")) return shardy_border(context, instruction, false);
  if (custom_call_calls(instruction, "SPMDFullToShardShape")) return hlo_border(context, instruction, true);
  if (custom_call_calls(instruction, "SPMDShardToFullShape")) return hlo_border(context, instruction, false);
  return STATUS_OK;
}

/* Inside of a region no dimension can have its axes; what a text says of them there is about the whole. */
static Status take_manual(Propagation *propagation, HloInstruction *instruction, void *context) {
  AxisMask manual = propagation->manual[instruction->id];
  (void)context;
  for (int i = 0; i < shape_leaf_count(instruction->shape); i++) {
    ValueState *state = &propagation->values[instruction->id][i];
    state->manual = manual;
    state->taken |= manual;
    for (int d = 0; d < state->rank; d++) {
      if (axis_list_mask(state->dims[d]) & manual)
        return wrong(propagation, instruction, "it is divided along an axis that is manual where it stands");
    }
  }
  return STATUS_OK;
}

/* --- groups --- */

typedef struct ShardingGroups {
  IntMap as, groups; /* of shard_as=, of ShardingGroup: to the first value's instruction id */
} ShardingGroups;

static void join_group(Propagation *propagation, IntMap *map, uint64_t group, HloInstruction *value) {
  int64_t first;
  if (!int_map_find(map, group, &first)) {
    int_map_set(map, group, value->id);
    return;
  }
  SharedPair pair = {&propagation->values[first][0], &propagation->values[value->id][0], value};
  array_push(&propagation->groups, propagation->arena, pair);
}

/* "12 : i64" */
static uint64_t group_number(StringView text) {
  uint64_t number = 0;
  for (size_t i = 0; i < text.size && char_is_digit(text.data[i]); i++)
    number = number * 10 + (uint64_t)(text.data[i] - '0');
  return number;
}

static Status find_groups(Propagation *propagation, HloInstruction *instruction, void *context) {
  ShardingGroups *groups = context;
  const HloSharding *given = hlo_instruction_sharding(instruction);
  if (given != NULL && given->kind != SHARDING_TUPLE && given->shard_as >= 0 && shape_is_array(instruction->shape))
    join_group(propagation, &groups->as, (uint64_t)given->shard_as, instruction);
  if (!custom_call_calls(instruction, "xla.sdy.ShardingGroup") || instruction->operand_count == 0) return STATUS_OK;
  const FrontendAttribute *id = hlo_instruction_frontend(instruction, "xla.sdy.sharding_group_id");
  if (id != NULL && shape_is_array(instruction->operands[0]->shape))
    join_group(propagation, &groups->groups, group_number(id->value), instruction->operands[0]);
  return STATUS_OK;
}

Status propagation_begin(Propagation *propagation) {
  int64_t count = propagation->module->next_instruction_id;
  Constraints constraints = {.propagation = propagation,
                             .border_axes = ARENA_NEW_ARRAY(propagation->arena, AxisMask, count),
                             .enters = ARENA_NEW_ARRAY(propagation->arena, bool, count)};
  propagation->values = ARENA_NEW_ARRAY(propagation->arena, ValueState *, count);
  propagation->outsides = ARENA_NEW_ARRAY(propagation->arena, ValueState *, count);
  RETURN_IF_ERROR(find_mesh(&constraints));
  RETURN_IF_ERROR(propagation_for_each(propagation, begin_values, &constraints));
  if (constraints.meshes.count == 0) close_parameters(propagation);
  RETURN_IF_ERROR(propagation_for_each(propagation, begin_border, &constraints));
  RETURN_IF_ERROR(propagation_fit_mesh(propagation));
  RETURN_IF_ERROR(propagation_find_regions(propagation, constraints.border_axes, constraints.enters));
  RETURN_IF_ERROR(propagation_for_each(propagation, take_manual, NULL));
  ShardingGroups groups;
  int_map_init(&groups.as, propagation->arena);
  int_map_init(&groups.groups, propagation->arena);
  return propagation_for_each(propagation, find_groups, &groups);
}
