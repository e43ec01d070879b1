#include "passes/spmd/sharding_report.h"

#include "base/json_writer.h"
#include "passes/spmd/propagation.h"

/* Calls |write| for every value of |computation| that has a sharding, in order. */
typedef void WriteValue(void *out, const ModuleShardings *shardings, const HloInstruction *instruction, int leaf,
                        const Shape *shape);

static void for_each_value(const HloComputation *computation, const ModuleShardings *shardings, WriteValue *write,
                           void *out) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    const ValueSharding *values = shardings->leaves[instruction->id];
    if (values == NULL) continue;
    for (int node = 0, leaf = 0; node < shape_node_count(instruction->shape); node++) {
      const Shape *shape = shape_node(instruction->shape, node);
      if (shape_is_tuple(shape)) continue;
      if (values[leaf].sharding != NULL) write(out, shardings, instruction, leaf, shape);
      leaf++;
    }
  }
}

static bool has_values(const HloComputation *computation, const ModuleShardings *shardings) {
  return computation->instructions.count > 0 && shardings->leaves[computation->root->id] != NULL;
}

static StringView sharding_text(Arena *arena, const SpmdMesh *mesh, const AxisSharding *sharding) {
  StringBuilder text;
  sb_init(&text, arena);
  hlo_sharding_print(&text, axis_sharding_to_hlo(arena, mesh, sharding));
  return sb_view(&text);
}

/* How a step came to a value of |owner|. */
typedef enum StepWay {
  WAY_OPERAND, /* from what it is computed of */
  WAY_USER,    /* from what is computed of it */
  WAY_BESIDE,  /* from another operand of its user, another result of its operation, the same value elsewhere */
} StepWay;

static bool reads(const HloInstruction *instruction, const HloInstruction *value) {
  for (int k = 0; k < instruction->operand_count; k++) {
    if (instruction->operands[k] == value) return true;
  }
  return false;
}

static StepWay step_way(const HloInstruction *owner, const ShardingStep *step) {
  if (step->along == owner && reads(owner, step->source)) return WAY_OPERAND;
  return step->along == step->source && reads(step->source, owner) ? WAY_USER : WAY_BESIDE;
}

/* --- text --- */

static void append_source(StringBuilder *out, const ShardingStep *step) {
  sb_printf(out, "'%.*s'", SV_ARG(step->source->name));
  if (shape_leaf_count(step->source->shape) > 1) sb_printf(out, " leaf %d", step->source_leaf);
}

static void append_step(StringBuilder *out, const SpmdMesh *mesh, const HloInstruction *owner,
                        const ShardingStep *step) {
  sb_printf(out, "    dimension %d in %lld: ", step->dim, (long long)axis_list_size(mesh, step->axes));
  switch (step_way(owner, step)) {
    case WAY_OPERAND:
      sb_append_cstring(out, "as its operand ");
      append_source(out, step);
      break;
    case WAY_USER:
      sb_append_cstring(out, "as its user ");
      append_source(out, step);
      break;
    case WAY_BESIDE:
      sb_append_cstring(out, "as ");
      append_source(out, step);
      sb_printf(out, ", by way of '%.*s'", SV_ARG(step->along->name));
      break;
  }
  sb_append_char(out, '\n');
}

typedef struct TextOut {
  StringBuilder *text;
  Arena *arena;
} TextOut;

static void value_text(void *context, const ModuleShardings *shardings, const HloInstruction *instruction, int leaf,
                       const Shape *shape) {
  const TextOut *out = context;
  const ValueSharding *value = &shardings->leaves[instruction->id][leaf];
  sb_printf(out->text, "  %.*s", SV_ARG(instruction->name));
  if (shape_leaf_count(instruction->shape) > 1) sb_printf(out->text, " leaf %d", leaf);
  sb_printf(out->text, " %.*s %.*s%s\n", SV_ARG(shape_text(out->arena, shape, false)),
            SV_ARG(sharding_text(out->arena, shardings->mesh, value->sharding)),
            value->is_given           ? ": given"
            : value->steps.count == 0 ? ": nothing divides it"
                                      : "");
  for (int64_t s = 0; s < value->steps.count; s++)
    append_step(out->text, shardings->mesh, instruction, &value->steps.data[s]);
}

static void module_text(Arena *arena, const HloModule *module, const ModuleShardings *shardings, StringBuilder *text) {
  TextOut out = {text, arena};
  sb_printf(text, "%lld devices\n", (long long)shardings->mesh->device_count);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (!has_values(computation, shardings)) continue;
    sb_printf(text, "%.*s\n", SV_ARG(computation->name));
    for_each_value(computation, shardings, value_text, &out);
  }
}

/* --- JSON --- */

typedef struct JsonOut {
  JsonWriter json;
  Arena *arena;
} JsonOut;

static void step_json(JsonWriter *json, const SpmdMesh *mesh, const HloInstruction *owner, const ShardingStep *step) {
  static const char *const ways[] = {[WAY_OPERAND] = "operand", [WAY_USER] = "user", [WAY_BESIDE] = "beside"};
  json_begin_object(json);
  json_field_int(json, "dimension", step->dim);
  json_field_int(json, "parts", axis_list_size(mesh, step->axes));
  json_field_string(json, "as", step->source->name);
  json_field_int(json, "leaf", step->source_leaf);
  json_field_string(json, "along", step->along->name);
  json_field_string(json, "way", sv_from_cstring(ways[step_way(owner, step)]));
  json_end_object(json);
}

static void value_json(void *context, const ModuleShardings *shardings, const HloInstruction *instruction, int leaf,
                       const Shape *shape) {
  JsonOut *out = context;
  JsonWriter *json = &out->json;
  const ValueSharding *value = &shardings->leaves[instruction->id][leaf];
  json_begin_object(json);
  json_field_string(json, "instruction", instruction->name);
  json_field_int(json, "leaf", leaf);
  json_field_string(json, "shape", shape_text(out->arena, shape, false));
  json_field_string(json, "sharding", sharding_text(out->arena, shardings->mesh, value->sharding));
  json_field_bool(json, "given", value->is_given);
  json_key(json, "steps");
  json_begin_array(json);
  for (int64_t s = 0; s < value->steps.count; s++) step_json(json, shardings->mesh, instruction, &value->steps.data[s]);
  json_end_array(json);
  json_end_object(json);
}

static void module_json(Arena *arena, const HloModule *module, const ModuleShardings *shardings, StringBuilder *text) {
  JsonOut out = {.arena = arena};
  JsonWriter *json = &out.json;
  json_init(json, text, true);
  json_begin_object(json);
  json_field_int(json, "devices", shardings->mesh->device_count);
  json_key(json, "computations");
  json_begin_array(json);
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloComputation *computation = module->computations.data[c];
    if (!has_values(computation, shardings)) continue;
    json_begin_object(json);
    json_field_string(json, "computation", computation->name);
    json_key(json, "values");
    json_begin_array(json);
    for_each_value(computation, shardings, value_json, &out);
    json_end_array(json);
    json_end_object(json);
  }
  json_end_array(json);
  json_end_object(json);
  sb_append_char(text, '\n');
}

Status sharding_report(HloModule *module, bool is_json, DiagSink *diag, StringBuilder *out) {
  if (module->num_partitions <= 1 || !spmd_is_to_be_partitioned(module))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "question",
                      "this module does not say how several devices divide it: shardings and '--partitions' do");
  Arena *arena = arena_create();
  ModuleShardings shardings;
  Status status = spmd_propagate(arena, module, diag, &shardings);
  if (status == STATUS_OK) (is_json ? module_json : module_text)(arena, module, &shardings, out);
  arena_destroy(arena);
  return status;
}
