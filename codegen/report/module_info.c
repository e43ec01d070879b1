/* What a module takes, gives and does, for people who meet it for the first time. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "codegen/report/report_internal.h"
#include "hlo/analysis/operation_counts.h"
#include "hlo/ir/leaf_names.h"

/* An array that comes in or goes out. */
typedef struct Leaf {
  StringView name; /* of a parameter, as C programs know it; else empty */
  StringView path; /* in its instruction: "x", "state{0,1}" */
  const Shape *shape;
  int64_t alias; /* of a result: the parameter leaf whose memory it takes; else -1 */
} Leaf;

typedef ARRAY(Leaf) LeafList;

typedef struct OpcodeCount {
  HloOpcode opcode;
  int64_t count;
} OpcodeCount;

typedef struct ModuleInfo {
  const HloModule *module;
  LeafList parameters, results;
  int64_t parameter_bytes, result_bytes, aliased_bytes, constant_bytes;
  OperationCounts work;
  int64_t unknown_loops, instructions;
  OpcodeCount opcodes[HLO_OPCODE_COUNT]; /* the most frequent first */
} ModuleInfo;

/* --- gathering --- */

static StringView leaf_path(Arena *arena, const HloInstruction *instruction, int node) {
  StringBuilder text;
  sb_init(&text, arena);
  sb_append(&text, instruction->name);
  if (shape_is_tuple(instruction->shape)) report_index(&text, instruction, node);
  return sb_view(&text);
}

static int64_t add_leaves(Arena *arena, const HloInstruction *instruction, LeafList *list) {
  for (int n = 0; n < shape_node_count(instruction->shape); n++) {
    const Shape *shape = shape_node(instruction->shape, n);
    if (shape_is_array(shape)) array_push(list, arena, ((Leaf){SV(""), leaf_path(arena, instruction, n), shape, -1}));
  }
  return shape_leaf_byte_size(instruction->shape);
}

/* Among the arrays of |shape|; -1 where |index| is none of them. */
static int64_t leaf_number(const Shape *shape, ShapeIndex index) {
  int64_t leaf = 0;
  int wanted = shape_node_from_index(shape, index);
  for (int n = 0; n < wanted; n++) leaf += shape_is_array(shape_node(shape, n));
  return wanted >= 0 && shape_is_array(shape_node(shape, wanted)) ? leaf : -1;
}

static int64_t array_count(const Shape *shape) {
  int64_t count = 0;
  for (int n = 0; n < shape_node_count(shape); n++) count += shape_is_array(shape_node(shape, n));
  return count;
}

static void add_alias(ModuleInfo *info, const InputOutputAlias *alias) {
  const HloComputation *entry = info->module->entry;
  if (alias->parameter < 0 || alias->parameter >= entry->parameters.count) return;
  int64_t result = leaf_number(entry->root->shape, alias->output);
  int64_t parameter = leaf_number(entry->parameters.data[alias->parameter]->shape, alias->parameter_index);
  if (result < 0 || parameter < 0) return;
  for (int64_t i = 0; i < alias->parameter; i++) parameter += array_count(entry->parameters.data[i]->shape);
  info->results.data[result].alias = parameter;
  info->aliased_bytes += shape_byte_size(info->results.data[result].shape);
}

static int more_frequent(const void *left, const void *right) {
  const OpcodeCount *a = left, *b = right;
  if (a->count != b->count) return a->count > b->count ? -1 : 1;
  return strcmp(hlo_opcode_text(a->opcode), hlo_opcode_text(b->opcode));
}

static void count_opcodes(ModuleInfo *info) {
  for (int op = 0; op < HLO_OPCODE_COUNT; op++) info->opcodes[op].opcode = (HloOpcode)op;
  for (int64_t c = 0; c < info->module->computations.count; c++) {
    const HloComputation *computation = info->module->computations.data[c];
    for (int64_t i = 0; i < computation->instructions.count; i++) {
      const HloInstruction *instruction = computation->instructions.data[i];
      info->opcodes[instruction->opcode].count++;
      if (instruction->opcode == HLO_CONSTANT) info->constant_bytes += shape_leaf_byte_size(instruction->shape);
    }
  }
  qsort(info->opcodes, HLO_OPCODE_COUNT, sizeof info->opcodes[0], more_frequent);
}

static void gather(Arena *arena, const HloModule *module, ModuleInfo *info) {
  const HloComputation *entry = module->entry;
  *info = (ModuleInfo){.module = module, .instructions = hlo_module_instruction_count(module)};
  for (int64_t i = 0; i < entry->parameters.count; i++)
    info->parameter_bytes += add_leaves(arena, entry->parameters.data[i], &info->parameters);
  info->result_bytes = add_leaves(arena, entry->root, &info->results);
  int64_t named;
  const StringView *names = hlo_parameter_leaf_names(module, arena, &named);
  for (int64_t i = 0; i < named && i < info->parameters.count; i++) info->parameters.data[i].name = names[i];
  for (int64_t i = 0; i < module->aliases.count; i++) add_alias(info, &module->aliases.data[i]);
  count_opcodes(info);
  info->work = module_operation_counts(module, &info->unknown_loops);
}

/* --- text --- */

static void print_leaves(StringBuilder *out, Arena *arena, const LeafList *list, char letter) {
  for (int64_t i = 0; i < list->count; i++) {
    const Leaf *leaf = &list->data[i];
    StringView shape = shape_text(arena, leaf->shape, true);
    sb_printf(out, "  %-6s %14lld  %-28.*s  %.*s", arena_printf(arena, "%c%lld", letter, (long long)i),
              (long long)shape_byte_size(leaf->shape), SV_ARG(shape), SV_ARG(leaf->path));
    if (leaf->name.size > 0 && !sv_equal(leaf->name, leaf->path)) sb_printf(out, " (%.*s)", SV_ARG(leaf->name));
    if (leaf->alias >= 0) sb_printf(out, ", in place of p%lld", (long long)leaf->alias);
    sb_append_char(out, '\n');
  }
}

static void print_text(StringBuilder *out, Arena *arena, const ModuleInfo *info) {
  const HloModule *module = info->module;
  sb_printf(out, "module %.*s: %lld instruction%s in %lld computation%s%s\n", SV_ARG(module->name),
            (long long)info->instructions, plural_ending(info->instructions), (long long)module->computations.count,
            plural_ending(module->computations.count), module->is_scheduled ? ", scheduled" : "");
  if (module->num_partitions * module->replica_count > 1)
    sb_printf(out, "for %lld devices: %lld partitions, %lld replicas\n",
              (long long)(module->num_partitions * module->replica_count), (long long)module->num_partitions,
              (long long)module->replica_count);
  sb_printf(out, "\nparameters: %lld array%s, %lld bytes\n", (long long)info->parameters.count,
            plural_ending(info->parameters.count), (long long)info->parameter_bytes);
  print_leaves(out, arena, &info->parameters, 'p');
  sb_printf(out, "results: %lld array%s, %lld bytes, %lld of them in place of parameters\n",
            (long long)info->results.count, plural_ending(info->results.count), (long long)info->result_bytes,
            (long long)info->aliased_bytes);
  print_leaves(out, arena, &info->results, 'r');
  sb_printf(out, "constants: %lld bytes\n\n", (long long)info->constant_bytes);
  sb_printf(out, "of a run%s\n", info->unknown_loops > 0 ? ", loops of unknown length counted as one round" : "");
  sb_printf(out, "  %14.0f  flops\n  %14.0f  transcendentals\n  %14.0f  bytes read and written\n", info->work.flops,
            info->work.transcendentals, info->work.bytes);
  if (info->work.bytes > 0) sb_printf(out, "  %14.3f  flops a byte\n", info->work.flops / info->work.bytes);
  if (info->unknown_loops > 0) sb_printf(out, "  %14lld  loops of unknown length\n", (long long)info->unknown_loops);
  sb_append_cstring(out, "\nopcodes\n");
  for (int op = 0; op < HLO_OPCODE_COUNT && info->opcodes[op].count > 0; op++)
    sb_printf(out, "  %14lld  %s\n", (long long)info->opcodes[op].count, hlo_opcode_text(info->opcodes[op].opcode));
}

/* --- JSON --- */

static void json_leaves(JsonWriter *json, Arena *arena, const char *key, const LeafList *list) {
  json_key(json, key);
  json_begin_array(json);
  for (int64_t i = 0; i < list->count; i++) {
    const Leaf *leaf = &list->data[i];
    json_begin_object(json);
    json_field_string(json, "instruction", leaf->path);
    if (leaf->name.size > 0) json_field_string(json, "name", leaf->name);
    json_field_string(json, "shape", shape_text(arena, leaf->shape, true));
    json_field_int(json, "bytes", shape_byte_size(leaf->shape));
    if (leaf->alias >= 0) json_field_int(json, "in_place_of", leaf->alias);
    json_end_object(json);
  }
  json_end_array(json);
}

static void print_json(StringBuilder *out, Arena *arena, const ModuleInfo *info) {
  JsonWriter json;
  json_init(&json, out, true);
  json_begin_object(&json);
  json_field_string(&json, "module", info->module->name);
  json_field_bool(&json, "is_scheduled", info->module->is_scheduled);
  json_field_int(&json, "num_partitions", info->module->num_partitions);
  json_field_int(&json, "replica_count", info->module->replica_count);
  json_field_int(&json, "computations", info->module->computations.count);
  json_field_int(&json, "instructions", info->instructions);
  json_leaves(&json, arena, "parameters", &info->parameters);
  json_leaves(&json, arena, "results", &info->results);
  json_field_int(&json, "argument_bytes", info->parameter_bytes);
  json_field_int(&json, "result_bytes", info->result_bytes);
  json_field_int(&json, "aliased_bytes", info->aliased_bytes);
  json_field_int(&json, "constant_bytes", info->constant_bytes);
  json_field_double(&json, "flops", info->work.flops);
  json_field_double(&json, "transcendentals", info->work.transcendentals);
  json_field_double(&json, "bytes", info->work.bytes);
  json_field_int(&json, "loops_of_unknown_length", info->unknown_loops);
  json_key(&json, "opcodes");
  json_begin_object(&json);
  for (int op = 0; op < HLO_OPCODE_COUNT && info->opcodes[op].count > 0; op++)
    json_field_int(&json, hlo_opcode_text(info->opcodes[op].opcode), info->opcodes[op].count);
  json_end_object(&json);
  json_end_object(&json);
  sb_append_char(out, '\n');
}

void report_module_info(StringBuilder *out, const HloModule *module, ReportFormat format) {
  Arena *scratch = arena_create();
  ModuleInfo info;
  gather(scratch, module, &info);
  if (format == REPORT_JSON)
    print_json(out, scratch, &info);
  else
    print_text(out, scratch, &info);
  arena_destroy(scratch);
}
