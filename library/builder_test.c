#include "xlac/builder.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "library/library_internal.h"

typedef struct Fixture {
  XlacClient *client;
  XlacBuilder *builder;
  XlacComputation *main;
  int errors;
  char text[1000]; /* of the first error */
} Fixture;

static void keep_diagnostic(void *data, const XlacDiagnostic *diagnostic) {
  Fixture *fixture = data;
  if (fixture->errors++ == 0) snprintf(fixture->text, sizeof fixture->text, "%s", diagnostic->text);
}

static int set_up(void **state) {
  Fixture *fixture = calloc(1, sizeof *fixture);
  XlacListener listener = {.struct_size = sizeof listener, .data = fixture, .on_diagnostic = keep_diagnostic};
  *state = fixture;
  return xlac_client_create(&listener, 1, &fixture->client) != XLAC_STATUS_OK ||
         xlac_builder_create(fixture->client, "made", &fixture->builder) != XLAC_STATUS_OK ||
         xlac_builder_add_computation(fixture->builder, "main", &fixture->main) != XLAC_STATUS_OK;
}

static int tear_down(void **state) {
  Fixture *fixture = *state;
  xlac_builder_destroy(fixture->builder);
  xlac_client_destroy(fixture->client);
  free(fixture);
  return 0;
}

/* --- modules made by hand --- */

/* The sums of the rows of f32[2,3], times a constant. */
static void add_row_sums(const Fixture *fixture) {
  XlacBuilder *builder = fixture->builder;
  XlacComputation *main = fixture->main, *plus;
  XlacOp *a, *b, *x, *zero, *sums, *scale;
  xlac_builder_add_computation(builder, "plus", &plus);
  xlac_builder_add_parameter(builder, plus, 0, "f32[]", "a", &a);
  xlac_builder_add_parameter(builder, plus, 1, "f32[]", "b", &b);
  xlac_builder_apply(builder, plus, "add", (XlacOp *[]){a, b}, 2, NULL);
  xlac_builder_add_parameter(builder, main, 0, "f32[2,3]", "x", &x);
  xlac_builder_add_constant_text(builder, main, "f32[]", "0", NULL, &zero);
  XlacAttribute attributes[] = {{.name = "dimensions", .value = "{1}"},
                                {.name = "to_apply", .computations = &plus, .count = 1}};
  XlacInstruction reduce = {.struct_size = sizeof reduce,
                            .opcode = "reduce",
                            .operands = (XlacOp *[]){x, zero},
                            .operand_count = 2,
                            .attributes = attributes,
                            .attribute_count = 2};
  xlac_builder_add(builder, main, &reduce, &sums);
  xlac_builder_add_constant(builder, main, "f32[2]", (float[]){10, 100}, 2 * sizeof(float), "scale", &scale);
  xlac_builder_apply(builder, main, "multiply", (XlacOp *[]){sums, scale}, 2, NULL);
  xlac_builder_set_entry(builder, main);
}

static void builder_makes_modules_that_run(void **state) {
  Fixture *fixture = *state;
  XlacModule *module;
  XlacExecutable *executable;
  add_row_sums(fixture);
  assert_int_equal(xlac_builder_finish(fixture->builder, &module), XLAC_STATUS_OK);
  assert_int_equal(xlac_compile_module(fixture->client, NULL, module, &executable), XLAC_STATUS_OK);
  const float x[] = {1, 2, 3, 4, 5, 6};
  float sums[2];
  assert_int_equal(xlac_executable_run(executable, (const void *[]){x}, (void *[]){sums}, NULL, NULL), XLAC_STATUS_OK);
  assert_true(sums[0] == 60 && sums[1] == 1500);
  assert_int_equal(fixture->errors, 0);
  xlac_executable_destroy(executable);
  /* A finished builder takes nothing, and outlives its module or not. */
  assert_int_equal(xlac_builder_add_computation(fixture->builder, "more", &fixture->main), XLAC_STATUS_INVALID);
  XlacModule *again;
  assert_int_equal(xlac_builder_finish(fixture->builder, &again), XLAC_STATUS_INVALID);
  assert_null(again);
  xlac_module_destroy(module);
}

static void builder_ends_with_its_module(void **state) {
  Fixture *fixture = *state;
  XlacModule *module;
  add_row_sums(fixture);
  assert_int_equal(xlac_builder_finish(fixture->builder, &module), XLAC_STATUS_OK);
  xlac_module_destroy(module);
}

/* --- errors --- */

static void builder_reports_the_first_failure_at_the_end(void **state) {
  Fixture *fixture = *state;
  XlacBuilder *builder = fixture->builder;
  XlacOp *x, *wrong, *after;
  xlac_builder_add_parameter(builder, fixture->main, 0, "f32[4]", "x", &x);
  assert_int_equal(xlac_builder_apply(builder, fixture->main, "ad", (XlacOp *[]){x, x}, 2, &wrong),
                   XLAC_STATUS_INVALID);
  assert_null(wrong);
  assert_string_equal(fixture->text, "main:2:1: error: unknown opcode 'ad'\n");
  assert_int_equal(xlac_builder_apply(builder, fixture->main, "tanh", &wrong, 1, &after), XLAC_STATUS_INVALID);
  assert_null(after);
  assert_int_equal(fixture->errors, 1); /* what follows from the first says nothing */
  XlacModule *module;
  assert_int_equal(xlac_builder_finish(builder, &module), XLAC_STATUS_INVALID);
  assert_null(module);
}

static void assert_refused(Fixture *fixture, XlacStatus status, const char *text) {
  assert_int_equal(status, XLAC_STATUS_INVALID);
  if (strstr(fixture->text, text) == NULL) fail_msg("'%s' is not in '%s'", text, fixture->text);
  fixture->errors = 0;
}

static void builder_obeys_the_rules_of_texts(void **state) {
  Fixture *fixture = *state;
  XlacBuilder *builder = fixture->builder;
  XlacComputation *main = fixture->main;
  XlacOp *x;
  xlac_builder_add_parameter(builder, main, 0, "f32[4]", "x", &x);
  assert_refused(fixture, xlac_builder_add_parameter(builder, main, 0, "f32[4]", "y", NULL), "main:2:1: error");
  assert_refused(fixture, xlac_builder_add_parameter(builder, main, 1, "f33[4]", "y", NULL), "shape:1:1: error");
  assert_refused(fixture, xlac_builder_add_parameter(builder, main, 1, "f32[4]", "a b", NULL), "a b");
  assert_refused(fixture, xlac_builder_apply(builder, main, "add", &x, 1, NULL), "main:2:1: error");
  assert_refused(fixture, xlac_builder_apply(builder, main, "constant", NULL, 0, NULL), "a function of its own");
  assert_refused(fixture, xlac_builder_add_constant(builder, main, "f32[4]", "12345", 5, NULL, NULL),
                 "5 bytes are no array of shape 'f32[4]'");
  XlacAttribute attribute = {.name = "dimensions", .value = "{0,}"};
  XlacInstruction reverse = {.struct_size = sizeof reverse,
                             .opcode = "reverse",
                             .operands = &x,
                             .operand_count = 1,
                             .attributes = &attribute,
                             .attribute_count = 1};
  assert_refused(fixture, xlac_builder_add(builder, main, &reverse, NULL), "dimensions:1:4: error");
  attribute.name = "dimension";
  assert_refused(fixture, xlac_builder_add(builder, main, &reverse, NULL), "'reverse' does not take attribute");
  attribute = (XlacAttribute){.name = "sharding", .computations = &main, .count = 1};
  assert_refused(fixture, xlac_builder_set_attribute(builder, x, &attribute), "attribute 'sharding' takes a text");
  assert_refused(fixture, xlac_builder_set_header(builder, "is_schedule", "true"), "is_schedule");
}

static void builder_verifies_modules(void **state) {
  Fixture *fixture = *state;
  XlacOp *x;
  XlacModule *module;
  xlac_builder_add_parameter(fixture->builder, fixture->main, 1, "f32[4]", "x", &x);
  assert_int_equal(xlac_builder_finish(fixture->builder, &module), XLAC_STATUS_INVALID);
  assert_true(fixture->errors > 0);
}

/* --- modules of texts, made again --- */

static const char *text_of_attr(Arena *arena, const HloAttr *attr) {
  StringBuilder text;
  sb_init(&text, arena);
  hlo_attr_print(&text, attr, false);
  return strchr(sv_copy(arena, sb_view(&text)).data, '=') + 1;
}

static const char *text_of_shape(Arena *arena, const Shape *shape) {
  StringBuilder text;
  sb_init(&text, arena);
  shape_print(&text, shape, true);
  return sv_copy(arena, sb_view(&text)).data;
}

typedef struct Rebuild {
  Arena *arena;
  XlacBuilder *builder;
  XlacComputation **computations; /* by the given ones' id */
  XlacOp **ops;                   /* by the given ones' id */
} Rebuild;

static XlacAttribute attribute_of(const Rebuild *rebuild, const HloAttr *attr) {
  XlacAttribute made = {.name = hlo_attr_info(attr->id)->text};
  HloAttrKind kind = hlo_attr_info(attr->id)->kind;
  if (kind == HLO_ATTR_KIND_COMPUTATION) {
    made.computations = &rebuild->computations[attr->value.computation->id];
    made.count = 1;
  } else if (kind == HLO_ATTR_KIND_COMPUTATION_LIST) {
    made.count = attr->value.computations.count;
    XlacComputation **list = ARENA_NEW_ARRAY(rebuild->arena, XlacComputation *, made.count);
    for (int64_t i = 0; i < made.count; i++) list[i] = rebuild->computations[attr->value.computations.data[i]->id];
    made.computations = list;
  } else if (kind == HLO_ATTR_KIND_INSTRUCTION_LIST) {
    made.count = attr->value.instructions.count;
    XlacOp **list = ARENA_NEW_ARRAY(rebuild->arena, XlacOp *, made.count);
    for (int64_t i = 0; i < made.count; i++) list[i] = rebuild->ops[attr->value.instructions.data[i]->id];
    made.operations = list;
  } else {
    made.value = text_of_attr(rebuild->arena, attr);
  }
  return made;
}

static XlacOp *add_constant(const Rebuild *rebuild, XlacComputation *to, const HloInstruction *constant) {
  const Literal *literal = hlo_instruction_literal(constant);
  const char *shape = text_of_shape(rebuild->arena, constant->shape);
  const char *name = sv_copy(rebuild->arena, constant->name).data;
  XlacOp *op;
  if (shape_is_array(constant->shape) && !literal->elided && literal->sizes == NULL) {
    xlac_builder_add_constant(rebuild->builder, to, shape, literal->data, (size_t)shape_byte_size(constant->shape),
                              name, &op);
    return op;
  }
  StringBuilder text;
  sb_init(&text, rebuild->arena);
  literal_print(&text, literal, INT64_MAX);
  xlac_builder_add_constant_text(rebuild->builder, to, shape, sv_copy(rebuild->arena, sb_view(&text)).data, name, &op);
  return op;
}

static XlacOp *add_instruction(const Rebuild *rebuild, XlacComputation *to, const HloInstruction *given) {
  XlacInstruction made = {.struct_size = sizeof made,
                          .opcode = hlo_opcode_text(given->opcode),
                          .name = sv_copy(rebuild->arena, given->name).data,
                          .shape = text_of_shape(rebuild->arena, given->shape),
                          .operand_count = given->operand_count};
  XlacOp **operands = ARENA_NEW_ARRAY(rebuild->arena, XlacOp *, given->operand_count);
  for (int i = 0; i < given->operand_count; i++) operands[i] = rebuild->ops[given->operands[i]->id];
  XlacAttribute *attributes = ARENA_NEW_ARRAY(rebuild->arena, XlacAttribute, given->attr_count);
  for (int i = 0; i < given->attr_count; i++)
    if (given->attrs[i].id < HLO_ATTR_FIRST_COMMON)
      attributes[made.attribute_count++] = attribute_of(rebuild, &given->attrs[i]);
  made.operands = operands;
  made.attributes = attributes;
  XlacOp *op;
  xlac_builder_add(rebuild->builder, to, &made, &op);
  return op;
}

static void add_computation(const Rebuild *rebuild, const HloComputation *given) {
  XlacComputation *to;
  xlac_builder_add_computation(rebuild->builder, sv_copy(rebuild->arena, given->name).data, &to);
  rebuild->computations[given->id] = to;
  if (given->execution_thread.size > 0)
    xlac_builder_set_thread(rebuild->builder, to, sv_copy(rebuild->arena, given->execution_thread).data);
  for (int64_t i = 0; i < given->instructions.count; i++) {
    const HloInstruction *instruction = given->instructions.data[i];
    XlacOp *op;
    if (instruction->opcode == HLO_PARAMETER)
      xlac_builder_add_parameter(rebuild->builder, to, hlo_instruction_parameter_number(instruction),
                                 text_of_shape(rebuild->arena, instruction->shape),
                                 sv_copy(rebuild->arena, instruction->name).data, &op);
    else if (instruction->opcode == HLO_CONSTANT)
      op = add_constant(rebuild, to, instruction);
    else
      op = add_instruction(rebuild, to, instruction);
    rebuild->ops[instruction->id] = op;
  }
  for (int64_t i = 0; i < given->instructions.count; i++) {
    const HloInstruction *instruction = given->instructions.data[i];
    for (int a = 0; a < instruction->attr_count; a++) {
      if (instruction->attrs[a].id < HLO_ATTR_FIRST_COMMON) continue;
      XlacAttribute attribute = attribute_of(rebuild, &instruction->attrs[a]);
      xlac_builder_set_attribute(rebuild->builder, rebuild->ops[instruction->id], &attribute);
    }
  }
  xlac_builder_set_root(rebuild->builder, to, rebuild->ops[given->root->id]);
}

/* The end of the header's attribute at |text|: a comma outside brackets and quotes, or the line's end there. */
static const char *end_of_attribute(const char *text) {
  int depth = 0;
  bool quoted = false;
  for (; *text; text++) {
    if (*text == '\\') {
      text++;
    } else if (*text == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      depth += strchr("{([", *text) != NULL;
      depth -= strchr("})]", *text) != NULL;
      if (depth == 0 && strchr(",\n", *text)) return text;
    }
  }
  return text;
}

/* From the module's text: what its first line and the tables after it say. */
static void add_header(const Rebuild *rebuild, char *text) {
  char *at = (char *)end_of_attribute(text);
  while (*at == ',') {
    char *name = at + 2, *equals = strchr(name, '=');
    at = (char *)end_of_attribute(equals + 1);
    char end = *at;
    *equals = *at = '\0';
    xlac_builder_set_header(rebuild->builder, name, equals + 1);
    *at = end;
  }
  char *tables = strstr(at, "\nFileNames\n"), *frames = strstr(at, "\nStackFrames\n");
  if (tables == NULL || frames == NULL) return;
  char *end = strstr(frames + 1, "\n\n");
  end[1] = '\0';
  xlac_builder_set_stack_frames(rebuild->builder, tables + 1);
}

static XlacModule *rebuilt(XlacClient *client, const HloModule *given, const char *text) {
  Arena *arena = arena_create();
  Rebuild rebuild = {.arena = arena};
  assert_int_equal(xlac_builder_create(client, sv_copy(arena, given->name).data, &rebuild.builder), XLAC_STATUS_OK);
  rebuild.computations = ARENA_NEW_ARRAY(arena, XlacComputation *, given->next_computation_id);
  rebuild.ops = ARENA_NEW_ARRAY(arena, XlacOp *, given->next_instruction_id);
  for (int64_t c = 0; c < given->computations.count; c++) add_computation(&rebuild, given->computations.data[c]);
  xlac_builder_set_entry(rebuild.builder, rebuild.computations[given->entry->id]);
  add_header(&rebuild, arena_copy_string(arena, text, strlen(text)));
  XlacModule *module;
  xlac_builder_finish(rebuild.builder, &module);
  xlac_builder_destroy(rebuild.builder);
  arena_destroy(arena);
  return module;
}

static void assert_rebuilds(Fixture *fixture, const char *path) {
  XlacModule *module, *again;
  char *text, *second;
  assert_int_equal(xlac_module_read(fixture->client, path, &module), XLAC_STATUS_OK);
  assert_int_equal(xlac_module_print(module, &text, NULL), XLAC_STATUS_OK);
  fixture->errors = 0;
  again = rebuilt(fixture->client, module->module, text);
  if (again == NULL) fail_msg("%s: %s", path, fixture->text);
  assert_int_equal(xlac_module_print(again, &second, NULL), XLAC_STATUS_OK);
  if (strcmp(text, second) != 0) {
    size_t same = 0;
    while (text[same] == second[same]) same++;
    while (same > 0 && text[same - 1] != '\n') same--;
    fail_msg("%s:\n%.300s\nand\n%.300s", path, text + same, second + same);
  }
  xlac_free(text), xlac_free(second);
  xlac_module_destroy(module), xlac_module_destroy(again);
}

/* Files that do not verify have no module to make. */
static void rebuild_all(Fixture *fixture, const char *pattern, int least) {
  glob_t files;
  assert_int_equal(glob(pattern, 0, NULL, &files), 0);
  int count = 0;
  for (size_t i = 0; i < files.gl_pathc; i++) {
    XlacModule *module;
    if (xlac_module_read(fixture->client, files.gl_pathv[i], &module) != XLAC_STATUS_OK) continue;
    xlac_module_destroy(module);
    assert_rebuilds(fixture, files.gl_pathv[i]);
    count++;
  }
  globfree(&files);
  if (count < least) fail_msg("%d modules", count);
}

static void builder_makes_every_case_again(void **state) {
  rebuild_all(*state, "testdata/cases/*/module.hlo", 170);
}

static void builder_makes_every_module_of_the_parser_again(void **state) {
  rebuild_all(*state, "testdata/parser/data/*.hlo", 50);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(builder_makes_modules_that_run),
      TEST(builder_ends_with_its_module),
      TEST(builder_reports_the_first_failure_at_the_end),
      TEST(builder_obeys_the_rules_of_texts),
      TEST(builder_verifies_modules),
      TEST(builder_makes_every_case_again),
      TEST(builder_makes_every_module_of_the_parser_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
