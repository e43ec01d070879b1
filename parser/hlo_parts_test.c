#include "parser/hlo_parts.h"

#include "parser/parser_testing.h"

typedef struct Parts {
  Arena *arena, *scratch;
  HloModule *module;
  HloComputation *main;
  DiagSink diag;
  HloParts parts;
  const Shape *vector; /* f32[4] */
  HloInstruction *x;
} Parts;

static HloInstruction *add(Parts *p, HloOpcode opcode, const Shape *shape, HloInstruction *const *operands, int count,
                           const HloAttr *attrs, int attr_count) {
  HloInstruction *made = NULL;
  HloInstructionParts given = {.opcode = opcode,
                               .shape = shape,
                               .operand_count = count,
                               .operands = operands,
                               .attr_count = attr_count,
                               .attrs = attrs};
  Status status = hlo_parts_instruction(&p->parts, p->main, &given, &made);
  assert_int_equal(status == STATUS_OK, p->diag.error_count == 0);
  return status == STATUS_OK ? made : NULL;
}

static HloInstruction *add_parameter(Parts *p, int64_t number) {
  HloAttr attr = {.id = HLO_ATTR_PARAMETER_NUMBER, .value.integer = number};
  return add(p, HLO_PARAMETER, p->vector, NULL, 0, &attr, 1);
}

static int parts_create(void **state) {
  Arena *arena = arena_create();
  Parts *p = ARENA_NEW(arena, Parts);
  p->arena = arena;
  p->scratch = arena_create();
  p->module = hlo_module_create(arena, shape_table_create(arena), SV("m"));
  p->main = hlo_module_add_computation(p->module, SV("main"));
  diag_sink_init(&p->diag, arena);
  hlo_parts_init(&p->parts, p->module, p->scratch, &p->diag);
  p->vector = shape_array(p->module->shapes, TYPE_F32, (int64_t[]){4}, 1);
  p->x = add_parameter(p, 0);
  *state = p;
  return 0;
}

static int parts_destroy(void **state) {
  Parts *p = *state;
  arena_destroy(p->scratch);
  arena_destroy(p->arena);
  return 0;
}

static void assert_error(const Parts *p, const char *code) {
  assert_int_equal(p->diag.error_count, 1);
  assert_string_equal(p->diag.first->code, code);
}

static SourceFile text(const char *text) {
  return (SourceFile){SV("part"), sv_from_cstring(text)};
}

/* --- instructions --- */

static void instruction_without_shape_gets_the_inferred_one(void **state) {
  Parts *p = *state;
  HloInstruction *operands[] = {p->x, p->x};
  HloInstruction *sum = add(p, HLO_ADD, NULL, operands, 2, NULL, 0);
  assert_ptr_equal(sum->shape, p->vector);
  /* a text would have to state it, although it follows */
  SliceRanges ranges = {1, (SliceDimension[]){{1, 3, 1}}};
  HloAttr attr = {.id = HLO_ATTR_SLICE, .value.slice = &ranges};
  HloInstruction *slice = add(p, HLO_SLICE, NULL, operands, 1, &attr, 1);
  assert_int_equal(slice->shape->dims[0], 2);
}

static void instruction_without_shape_that_does_not_follow_is_refused(void **state) {
  Parts *p = *state;
  assert_null(add(p, HLO_RESHAPE, NULL, &p->x, 1, NULL, 0));
  assert_error(p, "infer-reshape");
}

static void instruction_obeys_the_rules_of_texts(void **state) {
  Parts *p = *state;
  HloAttr attr = {.id = HLO_ATTR_DIMENSIONS, .value.ints = {2, (int64_t[]){0, 1}}};
  assert_null(add(p, HLO_CONCATENATE, p->vector, &p->x, 1, &attr, 1));
  assert_error(p, "parse-attribute-value");
}

static void instruction_with_too_few_operands_is_refused(void **state) {
  Parts *p = *state;
  assert_null(add(p, HLO_ADD, p->vector, &p->x, 1, NULL, 0));
  assert_error(p, "parse-operand-count");
}

static void instruction_without_required_attribute_is_refused(void **state) {
  Parts *p = *state;
  assert_null(add(p, HLO_TRANSPOSE, p->vector, &p->x, 1, NULL, 0));
  assert_error(p, "parse-missing-attribute");
}

static void parameter_number_twice_is_refused(void **state) {
  Parts *p = *state;
  assert_null(add_parameter(p, 0));
  assert_error(p, "parse-parameter");
}

static void computation_of_two_async_starts_is_refused(void **state) {
  Parts *p = *state;
  HloComputation *called = hlo_module_add_computation(p->module, SV("called"));
  hlo_computation_set_root(called, hlo_computation_add_parameter(called, 0, p->vector, SV("a")));
  const Shape *operands = shape_tuple(p->module->shapes, &p->vector, 1);
  const Shape *shape = shape_tuple(p->module->shapes, (const Shape *[]){operands, p->vector}, 2);
  HloAttr attr = {.id = HLO_ATTR_CALLS, .value.computation = called};
  assert_non_null(add(p, HLO_ASYNC_START, shape, &p->x, 1, &attr, 1));
  assert_null(add(p, HLO_ASYNC_START, shape, &p->x, 1, &attr, 1));
  assert_error(p, "parse-async");
}

/* --- names --- */

static void names_are_words(void **state) {
  Parts *p = *state;
  static const char *const good[] = {"a", "add.1", "_x", "a-b_c.d"};
  static const char *const bad[] = {"", "a b", "%a", "1a", "a=", "f32", "true", "__a", "a\n", "b01f_01io->b01f"};
  for (int i = 0; i < 4; i++)
    assert_int_equal(hlo_parts_check_name(&p->parts, "a module", sv_from_cstring(good[i]), NO_LOC), STATUS_OK);
  for (int i = 0; i < 10; i++) {
    if (hlo_parts_check_name(&p->parts, "a module", sv_from_cstring(bad[i]), NO_LOC) == STATUS_OK)
      fail_msg("'%s' is a name", bad[i]);
    assert_int_equal(p->diag.error_count, i + 1);
    assert_string_equal(p->diag.last->code, "parse-name");
  }
}

/* --- texts --- */

static void attribute_is_read_from_its_value(void **state) {
  Parts *p = *state;
  SourceFile file = text("{size=3 stride=2}");
  HloAttr attr;
  assert_int_equal(hlo_parts_attribute(&p->parts, HLO_ATTR_WINDOW, &file, &attr), STATUS_OK);
  assert_int_equal(attr.value.window->dims[0].stride, 2);
}

static void attribute_with_more_after_its_value_is_located(void **state) {
  Parts *p = *state;
  SourceFile file = text("{1,0}, index=1");
  HloAttr attr;
  assert_int_equal(hlo_parts_attribute(&p->parts, HLO_ATTR_DIMENSIONS, &file, &attr), STATUS_INVALID);
  assert_error(p, "parse-syntax");
  assert_int_equal(p->diag.first->loc.column, 6);
}

static void header_attributes_are_read_by_name(void **state) {
  Parts *p = *state;
  SourceFile file = text("2");
  assert_int_equal(hlo_parts_header(&p->parts, SV("replica_count"), NO_LOC, &file), STATUS_OK);
  assert_int_equal(p->module->replica_count, 2);
  assert_int_equal(hlo_parts_header(&p->parts, SV("replica_counts"), NO_LOC, &file), STATUS_INVALID);
  assert_error(p, "parse-attribute");
  assert_string_equal(p->diag.first->notes->message.data, "did you mean 'replica_count'?");
}

static void stack_frames_begin_with_file_names(void **state) {
  Parts *p = *state;
  SourceFile good = text("FileNames\n1 \"a.py\"\nFunctionNames\n1 \"f\"\nFileLocations\nStackFrames\n"),
             bad = text("1");
  assert_int_equal(hlo_parts_stack_frames(&p->parts, &good), STATUS_OK);
  assert_int_equal(p->module->stack_frames.file_name_count, 1);
  assert_int_equal(hlo_parts_stack_frames(&p->parts, &bad), STATUS_INVALID);
  assert_error(p, "parse-syntax");
}

static void sharding_of_a_tuple_is_spread_over_its_leaves(void **state) {
  Parts *p = *state;
  HloInstruction *operands[] = {p->x, p->x};
  HloInstruction *pair = add(p, HLO_TUPLE, NULL, operands, 2, NULL, 0);
  SourceFile file = text("{replicated}");
  HloAttr attr;
  assert_int_equal(hlo_parts_attribute(&p->parts, HLO_ATTR_SHARDING, &file, &attr), STATUS_OK);
  assert_int_equal(hlo_parts_set_attribute(&p->parts, pair, &attr), STATUS_OK);
  assert_int_equal(hlo_instruction_attr(pair, HLO_ATTR_SHARDING)->value.sharding->tuple_count, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, parts_create, parts_destroy)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(instruction_without_shape_gets_the_inferred_one),
      TEST(instruction_without_shape_that_does_not_follow_is_refused),
      TEST(instruction_obeys_the_rules_of_texts),
      TEST(instruction_with_too_few_operands_is_refused),
      TEST(instruction_without_required_attribute_is_refused),
      TEST(parameter_number_twice_is_refused),
      TEST(computation_of_two_async_starts_is_refused),
      TEST(names_are_words),
      TEST(attribute_is_read_from_its_value),
      TEST(attribute_with_more_after_its_value_is_located),
      TEST(header_attributes_are_read_by_name),
      TEST(stack_frames_begin_with_file_names),
      TEST(sharding_of_a_tuple_is_spread_over_its_leaves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
