/* The text of instructions, computations and modules, after XLA's printer. */
#include "hlo/ir/hlo_ir_internal.h"
#include "hlo/ir/hlo_module.h"

/* Result tuples, operands and parameters of the entry are counted in comments, every fifth. */
static void print_list_separator(StringBuilder *out, int64_t index) {
  if (index == 0) return;
  sb_append_cstring(out, ", ");
  if (index % 5 == 0) sb_printf(out, "/*index=%lld*/", (long long)index);
}

/* --- attributes --- */

/* After the opcode's own; result_accuracy is an own one that XLA prints among these. */
static const HloAttrId late_attrs[] = {HLO_ATTR_SHARDING,   HLO_ATTR_FRONTEND_ATTRIBUTES, HLO_ATTR_CONTROL_PREDECESSORS,
                                       HLO_ATTR_STATISTICS, HLO_ATTR_RESULT_ACCURACY,     HLO_ATTR_ORIGIN,
                                       HLO_ATTR_METADATA,   HLO_ATTR_BACKEND_CONFIG};

static bool is_printed_late(HloAttrId id) {
  return id == HLO_ATTR_RESULT_ACCURACY;
}

/* Lines alone are not worth a printed attribute to XLA. */
static bool metadata_is_printed(const HloMetadata *metadata) {
  return metadata->op_type.size > 0 || metadata->op_name.size > 0 || metadata->source_file.size > 0 ||
         metadata->scheduling_name.size > 0 || metadata->payload.size > 0 || metadata->stack_frame_id != 0;
}

static bool is_wanted(const HloAttr *attr, const HloPrintOptions *options) {
  if (attr->id == HLO_ATTR_METADATA) return options->metadata && metadata_is_printed(attr->value.metadata);
  if (attr->id == HLO_ATTR_ORIGIN) return options->metadata;
  return attr->id != HLO_ATTR_BACKEND_CONFIG || options->backend_config;
}

/* Attributes that XLA spells out even when they say the default. */
static bool is_always_printed(HloOpcode opcode, HloAttrId id) {
  switch (id) {
    case HLO_ATTR_DIMENSIONS: return opcode == HLO_BROADCAST || opcode == HLO_MAP;
    case HLO_ATTR_REPLICA_GROUPS:
    case HLO_ATTR_LARGEST:
    case HLO_ATTR_IS_ASSOCIATIVE:
    case HLO_ATTR_OUTFEED_SHAPE:
    case HLO_ATTR_LHS_CONTRACTING_DIMS:
    case HLO_ATTR_RHS_CONTRACTING_DIMS: return true;
    default: return false;
  }
}

/* "{0,1,…}" for a map without dimensions */
static void print_all_dimensions(StringBuilder *out, const HloInstruction *map) {
  int rank = map->operand_count > 0 ? map->operands[0]->shape->rank : 0;
  sb_append_cstring(out, "dimensions={");
  for (int i = 0; i < rank; i++) sb_printf(out, "%s%d", i > 0 ? "," : "", i);
  sb_append_char(out, '}');
}

/* The text of an absent attribute that is always printed. */
static void print_absent(StringBuilder *out, const HloInstruction *instruction, HloAttrId id) {
  if (id == HLO_ATTR_DIMENSIONS && instruction->opcode == HLO_MAP) {
    print_all_dimensions(out, instruction);
    return;
  }
  static const ReplicaGroups no_groups = {0};
  HloAttr attr = {.id = id};
  switch (id) {
    case HLO_ATTR_REPLICA_GROUPS: attr.value.replica_groups = &no_groups; break;
    case HLO_ATTR_LARGEST: attr.value.boolean = true; break;
    case HLO_ATTR_OUTFEED_SHAPE: attr.value.shape = instruction->operands[0]->shape; break;
    default: break; /* false, {} */
  }
  hlo_attr_print(out, &attr, false);
}

static void print_own_attr(StringBuilder *out, const HloInstruction *instruction, HloAttrId id,
                           const HloPrintOptions *options) {
  const HloAttr *attr = hlo_instruction_attr(instruction, id);
  bool always = is_always_printed(instruction->opcode, id);
  if (attr && (always || !hlo_instruction_attr_is_default(instruction, attr))) {
    sb_append_cstring(out, ", ");
    hlo_attr_print(out, attr, options->percent);
  } else if (!attr && always && (id != HLO_ATTR_OUTFEED_SHAPE || instruction->operand_count > 0)) {
    sb_append_cstring(out, ", ");
    print_absent(out, instruction, id);
  }
}

static void print_attrs(StringBuilder *out, const HloInstruction *instruction, const HloPrintOptions *options) {
  const HloOpcodeInfo *info = hlo_opcode_info(instruction->opcode);
  for (int i = 0; i < info->attr_count; i++) {
    HloAttrId id = info->attrs[i].id;
    if (hlo_attr_info(id)->text[0] != 0 && !is_printed_late(id)) print_own_attr(out, instruction, id, options);
  }
  if (instruction->opcode == HLO_PARAMETER) {
    print_own_attr(out, instruction, HLO_ATTR_PARAMETER_REPLICATION, options);
  }
  for (size_t i = 0; i < sizeof(late_attrs) / sizeof(late_attrs[0]) && instruction->attr_count > 0; i++) {
    const HloAttr *attr = hlo_instruction_attr(instruction, late_attrs[i]);
    if (!attr || !is_wanted(attr, options) || hlo_instruction_attr_is_default(instruction, attr)) continue;
    sb_append_cstring(out, ", ");
    hlo_attr_print(out, attr, options->percent);
  }
}

/* --- instructions --- */

static void print_operands(StringBuilder *out, const HloInstruction *instruction, const HloPrintOptions *options) {
  if (instruction->opcode == HLO_PARAMETER) {
    sb_append_int(out, hlo_instruction_parameter_number(instruction));
    return;
  }
  if (instruction->opcode == HLO_CONSTANT) {
    const Literal *literal = hlo_instruction_literal(instruction);
    if (literal) literal_print(out, literal, options->max_constant_elements);
    return;
  }
  for (int32_t i = 0; i < instruction->operand_count; i++) {
    print_list_separator(out, i);
    if (options->operand_shapes) {
      shape_print(out, instruction->operands[i]->shape, true);
      sb_append_char(out, ' ');
    }
    hlo_name_print(out, instruction->operands[i]->name, options->percent);
  }
}

void hlo_instruction_print(StringBuilder *out, const HloInstruction *instruction, const HloPrintOptions *options) {
  hlo_name_print(out, instruction->name, options->percent);
  sb_append_cstring(out, " = ");
  shape_print(out, instruction->shape, true);
  sb_append_char(out, ' ');
  sb_append_cstring(out, hlo_opcode_text(instruction->opcode));
  sb_append_char(out, '(');
  print_operands(out, instruction, options);
  sb_append_char(out, ')');
  print_attrs(out, instruction, options);
}

/* --- computations --- */

static void print_signature(StringBuilder *out, const HloComputation *computation) {
  sb_append_cstring(out, "(");
  for (int64_t i = 0; i < computation->parameters.count; i++) {
    const HloInstruction *parameter = computation->parameters.data[i];
    if (i > 0) sb_append_cstring(out, ", ");
    sb_append(out, parameter->name);
    sb_append_cstring(out, ": ");
    shape_print(out, parameter->shape, false);
  }
  sb_append_cstring(out, ") -> ");
  if (computation->root) shape_print(out, computation->root->shape, false);
  sb_append_char(out, ' ');
}

static void print_computation(StringBuilder *out, const HloComputation *computation, bool in_list_order,
                              const HloPrintOptions *options) {
  if (computation->module->entry == computation) sb_append_cstring(out, "ENTRY ");
  hlo_name_print(out, computation->name, options->percent);
  sb_append_char(out, ' ');
  if (options->program_shape) print_signature(out, computation);
  sb_append_cstring(out, "{\n");
  Arena *scratch = arena_create();
  int64_t count = computation->instructions.count;
  HloInstruction **order = computation->instructions.data;
  if (!in_list_order) order = hlo_computation_post_order(computation, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    sb_append_cstring(out, order[i] == computation->root ? "  ROOT " : "  ");
    hlo_instruction_print(out, order[i], options);
    sb_append_char(out, '\n');
  }
  arena_destroy(scratch);
  sb_append_char(out, '}');
  if (computation->execution_thread.size > 0 && !sv_equal(computation->execution_thread, SV("main"))) {
    sb_append_cstring(out, ", execution_thread=\"");
    hlo_string_escape(out, computation->execution_thread);
    sb_append_char(out, '"');
  }
  sb_append_char(out, '\n');
}

void hlo_computation_print(StringBuilder *out, const HloComputation *computation, const HloPrintOptions *options) {
  Arena *scratch = arena_create();
  bool *scheduled = hlo_module_scheduled_computations(computation->module, scratch);
  print_computation(out, computation, scheduled[computation->id], options);
  arena_destroy(scratch);
}

/* --- module header --- */

static void print_aliases(StringBuilder *out, const HloModule *module) {
  if (module->aliases.count > 0) {
    sb_append_cstring(out, ", input_output_alias={ ");
    for (int64_t i = 0; i < module->aliases.count; i++) {
      const InputOutputAlias *alias = &module->aliases.data[i];
      if (i > 0) sb_append_cstring(out, ", ");
      hlo_shape_index_print(out, alias->output);
      sb_printf(out, ": (%lld, ", (long long)alias->parameter);
      hlo_shape_index_print(out, alias->parameter_index);
      sb_append_cstring(out, alias->kind == ALIAS_MUST ? ", must-alias)" : ", may-alias)");
    }
    sb_append_cstring(out, " }");
  }
  if (module->donors.count > 0) {
    sb_append_cstring(out, ", buffer_donor={ ");
    for (int64_t i = 0; i < module->donors.count; i++) {
      const BufferDonor *donor = &module->donors.data[i];
      sb_printf(out, "%s(%lld, ", i > 0 ? ", " : "", (long long)donor->parameter);
      hlo_shape_index_print(out, donor->parameter_index);
      sb_append_char(out, ')');
    }
    sb_append_cstring(out, " }");
  }
  if (module->alias_passthrough_params) sb_append_cstring(out, ", alias_passthrough_params=true");
}

static void print_entry_layout(StringBuilder *out, const HloModule *module) {
  const EntryLayout *layout = &module->entry_layout;
  const HloComputation *entry = module->entry;
  if (!layout->present && (!entry || !entry->root)) return;
  int64_t count = layout->present ? layout->parameter_count : entry->parameters.count;
  sb_append_cstring(out, ", entry_computation_layout={(");
  for (int64_t i = 0; i < count; i++) {
    print_list_separator(out, i);
    shape_print(out, layout->present ? layout->parameters[i] : entry->parameters.data[i]->shape, true);
  }
  sb_append_cstring(out, ")->");
  shape_print(out, layout->present ? layout->result : entry->root->shape, true);
  sb_append_char(out, '}');
}

/* One false is the default. */
static void print_spmd(StringBuilder *out, const char *what, const bool *values, int64_t count) {
  if (count == 0 || (count == 1 && !values[0])) return;
  sb_printf(out, ", allow_spmd_sharding_propagation_to_%s={", what);
  for (int64_t i = 0; i < count; i++) sb_printf(out, "%s%s", i > 0 ? "," : "", values[i] ? "true" : "false");
  sb_append_char(out, '}');
}

static void print_origin_recovery(StringBuilder *out, const HloModule *module) {
  if (module->origin_recovery_count == 0) return;
  sb_append_cstring(out, ", origin_recovery_table={\n");
  for (int64_t i = 0; i < module->origin_recovery_count; i++) {
    const OriginRecoveryEntry *entry = &module->origin_recovery[i];
    sb_append_cstring(out, "  ");
    hlo_origin_print(out, &entry->from);
    sb_append_cstring(out, " : ");
    hlo_origin_print(out, &entry->to);
    if (entry->has_module) {
      sb_append_cstring(out, ",\n  \"");
      hlo_string_escape(out, entry->module_text);
      sb_append_char(out, '"');
    }
    sb_append_char(out, '\n');
  }
  sb_append_cstring(out, "}\n");
}

static void print_header(StringBuilder *out, const HloModule *module) {
  sb_append_cstring(out, "HloModule ");
  hlo_name_print(out, module->name, false);
  if (module->is_scheduled) sb_append_cstring(out, ", is_scheduled=true");
  print_aliases(out, module);
  print_entry_layout(out, module);
  print_spmd(out, "parameters", module->spmd_parameters, module->spmd_parameter_count);
  print_spmd(out, "output", module->spmd_outputs, module->spmd_output_count);
  if (module->replica_count != 1) sb_printf(out, ", replica_count=%lld", (long long)module->replica_count);
  if (module->num_partitions != 1) sb_printf(out, ", num_partitions=%lld", (long long)module->num_partitions);
  if (module->frontend_count > 0) {
    sb_append_cstring(out, ", frontend_attributes=");
    hlo_frontend_attributes_print(out, module->frontend, module->frontend_count);
  }
  print_origin_recovery(out, module);
}

static void print_names(StringBuilder *out, const char *title, const StringView *names, int64_t count) {
  sb_printf(out, "\n%s\n", title);
  for (int64_t i = 0; i < count; i++) {
    sb_printf(out, "%lld \"", (long long)i + 1);
    hlo_string_escape(out, names[i]);
    sb_append_cstring(out, "\"\n");
  }
}

static void print_stack_frames(StringBuilder *out, const StackFrameTables *tables) {
  if (!tables->present) return;
  print_names(out, "FileNames", tables->file_names, tables->file_name_count);
  print_names(out, "FunctionNames", tables->function_names, tables->function_name_count);
  sb_append_cstring(out, "\nFileLocations\n");
  for (int64_t i = 0; i < tables->file_location_count; i++) {
    const FileLocation *row = &tables->file_locations[i];
    sb_printf(out, "%lld {file_name_id=%d function_name_id=%d line=%d end_line=%d column=%d end_column=%d}\n",
              (long long)i + 1, row->file_name_id, row->function_name_id, row->line, row->end_line, row->column,
              row->end_column);
  }
  sb_append_cstring(out, "\nStackFrames\n");
  for (int64_t i = 0; i < tables->stack_frame_count; i++) {
    const StackFrame *row = &tables->stack_frames[i];
    sb_printf(out, "%lld {file_location_id=%d parent_frame_id=%d}\n", (long long)i + 1, row->file_location_id,
              row->parent_frame_id);
  }
  sb_append_char(out, '\n');
}

void hlo_module_print(StringBuilder *out, const HloModule *module, const HloPrintOptions *options) {
  print_header(out, module);
  sb_append_char(out, '\n');
  print_stack_frames(out, &module->stack_frames);
  sb_append_char(out, '\n');
  Arena *scratch = arena_create();
  int64_t count;
  bool *scheduled = hlo_module_scheduled_computations(module, scratch);
  HloComputation **order = hlo_module_print_order(module, scheduled, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    print_computation(out, order[i], scheduled[order[i]->id], options);
    sb_append_char(out, '\n');
  }
  arena_destroy(scratch);
}
