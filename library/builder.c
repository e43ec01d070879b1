/* Modules without text.  An XlacComputation is an HloComputation, an XlacOp an HloInstruction. */
#include "xlac/builder.h"

#include <string.h>

#include "hlo/infer/hlo_verifier.h"
#include "library/library_internal.h"
#include "parser/hlo_parser.h"
#include "parser/hlo_parts.h"

struct XlacBuilder {
  XlacClient *client;
  Arena *own;   /* the builder's; what is not the module's */
  Arena *arena; /* the module's */
  Arena *scratch;
  HloParts parts;                                /* their module is NULL once the builder is finished */
  XlacStatus failure;                            /* the first one */
  ARRAY(const SourceFile *) computation_sources; /* by id: what places of instructions name */
};

/* One call of the builder's: all that any of them takes. */
typedef struct BuilderCall {
  XlacBuilder *builder;
  Status (*work)(struct BuilderCall *call, DiagSink *diag);
  HloComputation *computation;
  const XlacInstruction *instruction;
  const XlacAttribute *attribute;
  HloInstruction *op;
  HloOpcode opcode;
  int64_t number;
  const char *name, *shape, *text;
  const void *data;
  size_t bytes;
  bool lacks_input; /* something that it was given is NULL: an earlier failure */
  void *result;
  XlacStatus status;
} BuilderCall;

static void work(void *self) {
  BuilderCall *call = self;
  XlacBuilder *builder = call->builder;
  DiagSink diag;
  diag_sink_init(&diag, builder->arena);
  builder->parts.diag = &diag;
  call->status = library_status(call->work(call, &diag));
  library_tell(&builder->client->listener, &diag, NULL);
  arena_reset(builder->scratch);
}

static XlacStatus run(BuilderCall *call) {
  XlacBuilder *builder = call->builder;
  if (call->lacks_input || builder->parts.module == NULL) {
    call->status = XLAC_STATUS_INVALID;
  } else {
    XlacStatus status = library_call(&builder->client->listener, work, call);
    if (status != XLAC_STATUS_OK) call->status = status;
  }
  if (builder->failure == XLAC_STATUS_OK) builder->failure = call->status;
  return call->status;
}

static XlacStatus run_for_op(BuilderCall *call, XlacOp **out_op) {
  XlacStatus status = run(call);
  if (out_op != NULL) *out_op = status == XLAC_STATUS_OK ? call->result : NULL;
  return status;
}

/* --- texts --- */

/* A copy of |text| that lives as long as the module, as a file called |name|. */
static const SourceFile *source_of(XlacBuilder *builder, const char *name, const char *text) {
  SourceFile source = {sv_copy(builder->arena, sv_from_cstring(name)), sv_copy(builder->arena, sv_from_cstring(text))};
  return ARENA_COPY_ARRAY(builder->arena, SourceFile, &source, 1);
}

static Status parse_shape(XlacBuilder *builder, const char *text, DiagSink *diag, const Shape **out_shape) {
  return hlo_parse_shape(builder->arena, builder->parts.module->shapes, source_of(builder, "shape", text), diag,
                         out_shape);
}

/* |name|, or nothing for NULL: then the opcode's is taken. */
static Status name_of(XlacBuilder *builder, const char *name, SourceLoc loc, StringView *out_name) {
  *out_name = name != NULL ? sv_copy(builder->arena, sv_from_cstring(name)) : SV("");
  return name != NULL ? hlo_parts_check_name(&builder->parts, "an instruction", *out_name, loc) : STATUS_OK;
}

/* The place of the next instruction of |computation|. */
static SourceLoc place_in(const XlacBuilder *builder, const HloComputation *computation) {
  return (SourceLoc){builder->computation_sources.data[computation->id], (uint32_t)computation->instructions.count + 1,
                     1};
}

/* --- builders --- */

typedef struct BuilderCreation {
  XlacClient *client;
  const char *name;
  XlacBuilder *builder;
  XlacStatus status;
} BuilderCreation;

static void create_builder(void *self) {
  BuilderCreation *creation = self;
  Arena *own = arena_create(), *arena = arena_create();
  XlacBuilder *builder = ARENA_NEW(own, XlacBuilder);
  builder->client = creation->client;
  builder->own = own;
  builder->arena = arena;
  builder->scratch = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  StringView name = sv_copy(arena, sv_from_cstring(creation->name));
  HloModule *module = hlo_module_create(arena, shape_table_create(arena), name);
  hlo_parts_init(&builder->parts, module, builder->scratch, &diag);
  creation->status = library_status(hlo_parts_check_name(&builder->parts, "a module", name, NO_LOC));
  library_tell(&creation->client->listener, &diag, NULL);
  if (creation->status == XLAC_STATUS_OK)
    creation->builder = builder;
  else
    xlac_builder_destroy(builder);
}

XlacStatus xlac_builder_create(XlacClient *client, const char *name, XlacBuilder **out_builder) {
  BuilderCreation creation = {.client = client, .name = name};
  XlacStatus status = library_call(&client->listener, create_builder, &creation);
  *out_builder = creation.builder;
  return status != XLAC_STATUS_OK ? status : creation.status;
}

void xlac_builder_destroy(XlacBuilder *builder) {
  if (builder == NULL) return;
  arena_destroy(builder->scratch);
  if (builder->parts.module != NULL) arena_destroy(builder->arena);
  arena_destroy(builder->own);
}

/* --- the module --- */

static Status set_header(BuilderCall *call, DiagSink *diag) {
  (void)diag;
  StringView name = sv_copy(call->builder->arena, sv_from_cstring(call->name));
  return hlo_parts_header(&call->builder->parts, name, NO_LOC, source_of(call->builder, call->name, call->text));
}

XlacStatus xlac_builder_set_header(XlacBuilder *builder, const char *name, const char *value) {
  return run(&(BuilderCall){.builder = builder, .work = set_header, .name = name, .text = value});
}

static Status set_stack_frames(BuilderCall *call, DiagSink *diag) {
  (void)diag;
  return hlo_parts_stack_frames(&call->builder->parts, source_of(call->builder, "stack frames", call->text));
}

XlacStatus xlac_builder_set_stack_frames(XlacBuilder *builder, const char *text) {
  return run(&(BuilderCall){.builder = builder, .work = set_stack_frames, .text = text});
}

static Status set_entry(BuilderCall *call, DiagSink *diag) {
  (void)diag;
  call->builder->parts.module->entry = call->computation;
  return STATUS_OK;
}

XlacStatus xlac_builder_set_entry(XlacBuilder *builder, XlacComputation *entry) {
  return run(&(BuilderCall){
      .builder = builder, .work = set_entry, .computation = (HloComputation *)entry, .lacks_input = entry == NULL});
}

/* --- computations --- */

static Status add_computation(BuilderCall *call, DiagSink *diag) {
  (void)diag;
  XlacBuilder *builder = call->builder;
  StringView name = SV("computation");
  if (call->name != NULL) {
    name = sv_copy(builder->arena, sv_from_cstring(call->name));
    RETURN_IF_ERROR(hlo_parts_check_name(&builder->parts, "a computation", name, NO_LOC));
  }
  HloComputation *computation = hlo_module_add_computation(builder->parts.module, name);
  SourceFile source = {computation->name, SV("")};
  array_push(&builder->computation_sources, builder->own, ARENA_COPY_ARRAY(builder->arena, SourceFile, &source, 1));
  call->result = computation;
  return STATUS_OK;
}

XlacStatus xlac_builder_add_computation(XlacBuilder *builder, const char *name, XlacComputation **out_computation) {
  BuilderCall call = {.builder = builder, .work = add_computation, .name = name};
  XlacStatus status = run(&call);
  *out_computation = status == XLAC_STATUS_OK ? call.result : NULL;
  return status;
}

static Status set_root(BuilderCall *call, DiagSink *diag) {
  if (call->op->parent != call->computation)
    return diag_error(diag, STATUS_INVALID, call->op->loc, "builder", "'%.*s' is of another computation",
                      SV_ARG(call->op->name));
  hlo_computation_set_root(call->computation, call->op);
  return STATUS_OK;
}

XlacStatus xlac_builder_set_root(XlacBuilder *builder, XlacComputation *computation, XlacOp *root) {
  return run(&(BuilderCall){.builder = builder,
                            .work = set_root,
                            .computation = (HloComputation *)computation,
                            .op = (HloInstruction *)root,
                            .lacks_input = computation == NULL || root == NULL});
}

static Status set_thread(BuilderCall *call, DiagSink *diag) {
  (void)diag;
  bool is_main = strcmp(call->text, "main") == 0;
  call->computation->execution_thread = is_main ? SV("") : sv_copy(call->builder->arena, sv_from_cstring(call->text));
  return STATUS_OK;
}

XlacStatus xlac_builder_set_thread(XlacBuilder *builder, XlacComputation *computation, const char *thread) {
  return run(&(BuilderCall){.builder = builder,
                            .work = set_thread,
                            .computation = (HloComputation *)computation,
                            .text = thread,
                            .lacks_input = computation == NULL});
}

/* --- attributes --- */

static Status wrong_attribute(const XlacAttribute *given, SourceLoc loc, const char *what, DiagSink *diag) {
  return diag_error(diag, STATUS_INVALID, loc, "builder", "attribute '%s' takes %s", given->name, what);
}

static bool lacks_part(const XlacAttribute *given) {
  for (int64_t i = 0; i < given->count; i++) {
    if (given->computations != NULL && given->computations[i] == NULL) return true;
    if (given->operations != NULL && given->operations[i] == NULL) return true;
  }
  return false;
}

/* The value of attribute |id|, in the module's arena. */
static Status make_attribute(XlacBuilder *builder, HloAttrId id, const XlacAttribute *given, SourceLoc loc,
                             DiagSink *diag, HloAttr *out_attr) {
  Arena *arena = builder->arena;
  HloAttrKind kind = hlo_attr_info(id)->kind;
  size_t size = (size_t)given->count * sizeof(void *);
  *out_attr = (HloAttr){.id = id, .loc = loc};
  if (kind == HLO_ATTR_KIND_COMPUTATION) {
    if (given->computations == NULL || given->count != 1) return wrong_attribute(given, loc, "a computation", diag);
    out_attr->value.computation = (HloComputation *)given->computations[0];
  } else if (kind == HLO_ATTR_KIND_COMPUTATION_LIST) {
    if (given->computations == NULL) return wrong_attribute(given, loc, "computations", diag);
    out_attr->value.computations.count = given->count;
    out_attr->value.computations.data = arena_copy(arena, given->computations, size);
  } else if (kind == HLO_ATTR_KIND_INSTRUCTION_LIST) {
    if (given->operations == NULL) return wrong_attribute(given, loc, "instructions", diag);
    out_attr->value.instructions.count = given->count;
    out_attr->value.instructions.data = arena_copy(arena, given->operations, size);
  } else {
    if (given->value == NULL) return wrong_attribute(given, loc, "a text", diag);
    return hlo_parts_attribute(&builder->parts, id, source_of(builder, given->name, given->value), out_attr);
  }
  return STATUS_OK;
}

static Status find_attribute(HloOpcode opcode, const XlacAttribute *given, SourceLoc loc, DiagSink *diag,
                             HloAttrId *out_id) {
  *out_id = hlo_opcode_attr_from_text(opcode, sv_from_cstring(given->name));
  if (*out_id != HLO_ATTR_NONE) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, loc, "parse-attribute", "'%s' does not take attribute '%s'",
                    hlo_opcode_text(opcode), given->name);
}

static Status set_attribute(BuilderCall *call, DiagSink *diag) {
  HloAttrId id;
  HloAttr attr;
  RETURN_IF_ERROR(find_attribute(call->op->opcode, call->attribute, call->op->loc, diag, &id));
  if (id < HLO_ATTR_FIRST_COMMON)
    return diag_error(diag, STATUS_INVALID, call->op->loc, "builder", "attribute '%s' is given with the instruction",
                      call->attribute->name);
  RETURN_IF_ERROR(make_attribute(call->builder, id, call->attribute, call->op->loc, diag, &attr));
  return hlo_parts_set_attribute(&call->builder->parts, call->op, &attr);
}

XlacStatus xlac_builder_set_attribute(XlacBuilder *builder, XlacOp *op, const XlacAttribute *attribute) {
  return run(&(BuilderCall){.builder = builder,
                            .work = set_attribute,
                            .op = (HloInstruction *)op,
                            .attribute = attribute,
                            .lacks_input = op == NULL || lacks_part(attribute)});
}

/* --- instructions --- */

/* Adds what |parts| says under |name| and with |shape| as texts, either of which may be NULL; the latest instruction is
 * the root until another one is chosen. */
static Status add_parts(BuilderCall *call, HloInstructionParts *parts, const char *name, const char *shape,
                        DiagSink *diag) {
  XlacBuilder *builder = call->builder;
  HloComputation *computation = call->computation;
  bool root_is_latest = computation->instructions.count == 0 ||
                        computation->root == computation->instructions.data[computation->instructions.count - 1];
  parts->loc = place_in(builder, computation);
  RETURN_IF_ERROR(name_of(builder, name, parts->loc, &parts->name));
  if (shape != NULL && parts->shape == NULL) RETURN_IF_ERROR(parse_shape(builder, shape, diag, &parts->shape));
  HloInstruction *made;
  RETURN_IF_ERROR(hlo_parts_instruction(&builder->parts, computation, parts, &made));
  if (root_is_latest) hlo_computation_set_root(computation, made);
  call->result = made;
  return STATUS_OK;
}

/* What stands between the parentheses is no operand: parameters, constants. */
static bool has_value_for_operands(HloOpcode opcode) {
  const HloOpcodeInfo *info = hlo_opcode_info(opcode);
  for (int i = 0; i < info->attr_count; i++)
    if (hlo_attr_info(info->attrs[i].id)->text[0] == '\0') return true;
  return false;
}

static Status add_instruction(BuilderCall *call, DiagSink *diag) {
  const XlacInstruction *given = call->instruction;
  SourceLoc loc = place_in(call->builder, call->computation);
  StringView opcode = sv_from_cstring(given->opcode);
  HloInstructionParts parts = {.operand_count = (int)given->operand_count,
                               .operands = (HloInstruction *const *)given->operands,
                               .attr_count = (int)given->attribute_count};
  bool is_known = hlo_opcode_from_text(opcode, &parts.opcode);
  if (!is_known || has_value_for_operands(parts.opcode))
    return diag_error(diag, STATUS_INVALID, loc, "parse-opcode",
                      is_known ? "'%s' has a function of its own" : "unknown opcode '%s'", given->opcode);
  HloAttr *attrs = ARENA_NEW_ARRAY(call->builder->arena, HloAttr, given->attribute_count);
  for (int64_t i = 0; i < given->attribute_count; i++) {
    HloAttrId id;
    RETURN_IF_ERROR(find_attribute(parts.opcode, &given->attributes[i], loc, diag, &id));
    RETURN_IF_ERROR(make_attribute(call->builder, id, &given->attributes[i], loc, diag, &attrs[i]));
  }
  parts.attrs = attrs;
  return add_parts(call, &parts, given->name, given->shape, diag);
}

XlacStatus xlac_builder_add(XlacBuilder *builder, XlacComputation *computation, const XlacInstruction *instruction,
                            XlacOp **out_op) {
  bool lacks = computation == NULL;
  for (int64_t i = 0; i < instruction->operand_count; i++) lacks |= instruction->operands[i] == NULL;
  for (int64_t i = 0; i < instruction->attribute_count; i++) lacks |= lacks_part(&instruction->attributes[i]);
  BuilderCall call = {.builder = builder,
                      .work = add_instruction,
                      .computation = (HloComputation *)computation,
                      .instruction = instruction,
                      .lacks_input = lacks};
  return run_for_op(&call, out_op);
}

XlacStatus xlac_builder_apply(XlacBuilder *builder, XlacComputation *computation, const char *opcode,
                              XlacOp *const *operands, int64_t operand_count, XlacOp **out_op) {
  XlacInstruction instruction = {
      .struct_size = sizeof instruction, .opcode = opcode, .operands = operands, .operand_count = operand_count};
  return xlac_builder_add(builder, computation, &instruction, out_op);
}

static Status add_parameter(BuilderCall *call, DiagSink *diag) {
  HloAttr number = {.id = HLO_ATTR_PARAMETER_NUMBER,
                    .loc = place_in(call->builder, call->computation),
                    .value.integer = call->number};
  HloInstructionParts parts = {.opcode = HLO_PARAMETER, .attr_count = 1, .attrs = &number};
  return add_parts(call, &parts, call->name, call->shape, diag);
}

XlacStatus xlac_builder_add_parameter(XlacBuilder *builder, XlacComputation *computation, int64_t number,
                                      const char *shape, const char *name, XlacOp **out_op) {
  BuilderCall call = {.builder = builder,
                      .work = add_parameter,
                      .computation = (HloComputation *)computation,
                      .number = number,
                      .shape = shape,
                      .name = name,
                      .lacks_input = computation == NULL};
  return run_for_op(&call, out_op);
}

/* --- constants --- */

static Status copy_data(const BuilderCall *call, const Shape *shape, DiagSink *diag, const Literal **out_literal) {
  SourceLoc loc = place_in(call->builder, call->computation);
  if (!shape_is_array(shape) || shape_byte_size(shape) < 0 || (size_t)shape_byte_size(shape) != call->bytes)
    return diag_error(diag, STATUS_INVALID, loc, "builder", "%zu bytes are no array of shape '%s'", call->bytes,
                      call->shape);
  Literal *literal = literal_create(call->builder->arena, shape);
  if (call->bytes > 0) memcpy(literal->data, call->data, call->bytes);
  *out_literal = literal;
  return STATUS_OK;
}

static Status add_constant(BuilderCall *call, DiagSink *diag) {
  XlacBuilder *builder = call->builder;
  HloAttr value = {.id = HLO_ATTR_LITERAL, .loc = place_in(builder, call->computation)};
  HloInstructionParts parts = {.opcode = HLO_CONSTANT, .attr_count = 1, .attrs = &value};
  RETURN_IF_ERROR(parse_shape(builder, call->shape, diag, &parts.shape));
  if (call->text != NULL)
    RETURN_IF_ERROR(hlo_parts_literal(&builder->parts, parts.shape, source_of(builder, "constant", call->text),
                                      &value.value.literal));
  else
    RETURN_IF_ERROR(copy_data(call, parts.shape, diag, &value.value.literal));
  return add_parts(call, &parts, call->name, NULL, diag);
}

static XlacStatus run_constant(BuilderCall *call, XlacOp **out_op) {
  call->work = add_constant;
  call->lacks_input = call->computation == NULL;
  return run_for_op(call, out_op);
}

XlacStatus xlac_builder_add_constant(XlacBuilder *builder, XlacComputation *computation, const char *shape,
                                     const void *data, size_t bytes, const char *name, XlacOp **out_op) {
  BuilderCall call = {.builder = builder,
                      .computation = (HloComputation *)computation,
                      .shape = shape,
                      .data = data,
                      .bytes = bytes,
                      .name = name};
  return run_constant(&call, out_op);
}

XlacStatus xlac_builder_add_constant_text(XlacBuilder *builder, XlacComputation *computation, const char *shape,
                                          const char *value, const char *name, XlacOp **out_op) {
  BuilderCall call = {
      .builder = builder, .computation = (HloComputation *)computation, .shape = shape, .text = value, .name = name};
  return run_constant(&call, out_op);
}

/* --- the end --- */

static Status finish(BuilderCall *call, DiagSink *diag) {
  XlacBuilder *builder = call->builder;
  HloModule *module = builder->parts.module;
  const HloComputationArray *computations = &module->computations;
  if (computations->count == 0)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "builder", "the module has no computation");
  for (int64_t c = 0; c < computations->count; c++)
    if (computations->data[c]->root == NULL)
      return diag_error(diag, STATUS_INVALID, NO_LOC, "builder", "computation '%.*s' has no instruction",
                        SV_ARG(computations->data[c]->name));
  if (module->entry == NULL) module->entry = computations->data[computations->count - 1];
  RETURN_IF_ERROR(hlo_verify(module, diag));
  RETURN_IF_ERROR(hlo_verify_transfers_end(module, diag));
  XlacModule *made = ARENA_NEW(builder->arena, XlacModule);
  *made = (XlacModule){.client = builder->client, .arena = builder->arena, .shapes = module->shapes, .module = module};
  call->result = made;
  return STATUS_OK;
}

XlacStatus xlac_builder_finish(XlacBuilder *builder, XlacModule **out_module) {
  *out_module = NULL;
  if (builder->failure != XLAC_STATUS_OK) return builder->failure;
  BuilderCall call = {.builder = builder, .work = finish};
  XlacStatus status = run(&call);
  if (status != XLAC_STATUS_OK) return status;
  *out_module = call.result;
  builder->parts.module = NULL;
  return XLAC_STATUS_OK;
}
