/* Errors: where they are, how many there are, and what is advised. */
#include <string.h>

#include "parser/parser_testing.h"

typedef struct Row {
  const char *body, *errors;
} Row;

static void check_bodies(const Row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Arena *arena = arena_create();
    ParseResult *result = parse_text(in_entry(arena, rows[i].body));
    const char *errors = parse_errors(result);
    if (strcmp(errors, rows[i].errors) != 0) fail_msg("%s\nreports\n%s\nnot\n%s", rows[i].body, errors, rows[i].errors);
    parse_free(result);
    arena_destroy(arena);
  }
}
#define CHECK_BODIES(rows) check_bodies(rows, sizeof(rows) / sizeof((rows)[0]))

/* The body begins in line 2. */
static void errors_do_not_cascade(void **state) {
  (void)state;
  static const Row rows[] = {
      /* uses of what failed are no errors */
      {"p = f33[4] parameter(0)\nq = f32[4] negate(p)\nROOT r = f32[4] add(p, q)", "2:5 parse-type"},
      {"s4 = f32[4] parameter(0)\nROOT r = f32[4] negate(s4)", "2:1 parse-name"},
      {"p= f32[4] parameter(0)\nROOT r = f32[4] negate(p)", "2:1 parse-name"},
      {"? = f32[4] parameter(0)\nROOT r = f32[4] negate(x)", "2:1 parse-syntax"},
      {"p = f32[] parameter(0)\nROOT r = f32[] call(p), to_apply={ ROOT x = f32[] foo() }", "3:51 parse-opcode"},
      /* brackets left open */
      {"p = f32[4 parameter(0)\nq = f32[2] parameter(1)\nROOT r = f32[4] sine(q",
       "2:11 parse-syntax\n5:1 parse-syntax"},
      {"p = f32[2] parameter(0), sharding={{replicated}\nROOT r = f32[4] foo(p)",
       "3:1 parse-syntax\n3:17 parse-opcode"},
      {"p = f32[] parameter(0)\n  q = f32[] call(p), to_apply={ a = f32[] parameter(0) ROOT b = f32[] negate(a }\n  "
       "ROOT r = f32[] foo(p)",
       "3:80 parse-syntax\n4:18 parse-opcode"},
      {"  p = f32[] parameter(0)\n  q = f32[] call(p), to_apply={\n    a = f32[] foo()\n    ROOT b = f32[] bar(a)\n  "
       "}\n  ROOT r = f32[] baz(p)",
       "4:15 parse-opcode\n5:20 parse-opcode\n7:18 parse-opcode"},
      {"  p = f32[] parameter(0)\n  q = f32[] call(p), to_apply={\n    a = f32[ parameter(0)\n    ROOT b = f32[] "
       "bar(a\n  }\n  ROOT r = f32[] baz(p)",
       "4:14 parse-syntax\n5:20 parse-opcode\n7:18 parse-opcode"},
      /* several on the way */
      {"p = f32[2] parameter(0), metadata={op_nam=\"x\"}\nq = f32[2] neg(p)\nr = f32[2] add(p, p), "
       "dimensions={0}\nROOT s = f32[2] add(p)",
       "2:36 parse-attribute\n3:12 parse-opcode\n4:23 parse-attribute\n5:20 parse-operand-count"},
      /* an unterminated string ends with its line */
      {"p = f32[2] parameter(0), metadata={op_name=\"x}\nROOT q = f32[2] foo(p)",
       "2:44 parse-string\n3:17 parse-opcode"},
      /* attribute without comma, with blank */
      {"p = f32[2] parameter(0)\nROOT q = f32[2] reverse(p) dimensions={0}", "3:17 parse-missing-attribute"},
      {"p = f32[2] parameter(0)\nROOT q = f32[2] negate(p) dimensions={0}", "3:27 parse-syntax"},
      {"p = f32[2] parameter(0)\nROOT q = f32[2] reverse(p), dimensions ={0}", "3:29 parse-syntax"},
  };
  CHECK_BODIES(rows);
}

static void names_are_checked(void **state) {
  (void)state;
  static const Row rows[] = {
      {"%f32 = f32[] parameter(0)", "2:1 parse-name"},
      {"__a = f32[] parameter(0)", "2:1 parse-name"},
      {"__xla_a = f32[] parameter(0)", ""},
      {"%inf = f32[] parameter(0)", ""},
      {"inf = f32[] parameter(0)", "2:1 parse-name"},
      {"p: = f32[] parameter(0)\nROOT q = f32[] negate(p:)", ""},
      {"a = f32[] parameter(0)\n%a = f32[] parameter(1)", "3:1 parse-duplicate-name"},
      {"ROOT a = f32[] parameter(0)\nROOT b = f32[] parameter(1)", "3:1 parse-root"},
      {"a = f32[] negate(a)", "2:18 parse-operand"},
      {"", "3:1 parse-syntax"},
  };
  CHECK_BODIES(rows);
}

static void parameters_are_checked(void **state) {
  (void)state;
  static const Row rows[] = {
      {"a = f32[] parameter(1)\nb = f32[] parameter(0)", ""},
      {"a = f32[] parameter(-1)", "2:21 parse-parameter"},
      {"a = f32[] parameter(0)\nb = f32[] parameter(0)", "3:21 parse-parameter"},
      {"a = f32[] parameter(0)\nb = f32[] parameter(2)", "3:11 parse-parameter"},
      {"a = f32[] parameter(9223372036854775807)", "2:21 parse-parameter"},
      {"a = f32[] parameter()", "2:21 parse-syntax"},
      {"a = (f32[], s32[]) parameter(0), parameter_replication={true,false}", ""},
      {"a = f32[] parameter(0), parameter_replication={true,false}", "2:25 parse-attribute-value"},
      {"a = f32[] parameter(0)\nb = f32[] negate(a), parameter_replication={true}", "3:22 parse-attribute"},
  };
  CHECK_BODIES(rows);
}

static void shapes_are_checked(void **state) {
  (void)state;
  static const Row rows[] = {
      {"a = f32[2,3]{1,0:T(8,128)(2,1)L(4)E(4)S(1)SC(0:1,2)M(16)} parameter(0)", ""},
      {"a = f32[]{:S(1)} parameter(0)", ""},
      {"a = f32[?,<=4] parameter(0)", ""},
      {"a = b(f32[2]) parameter(0)", ""},
      {"a = b(b(f32[2])) parameter(0)", "2:7 parse-shape"},
      {"a = b((f32[2])) parameter(0)", "2:7 parse-shape"},
      {"a = f32[2,] parameter(0)", "2:11 parse-syntax"},
      {"a = f32[-1] parameter(0)", "2:9 parse-shape"},
      {"a = f32[18446744073709551615] parameter(0)", "2:9 parse-shape"},
      {"a = f32[<=?] parameter(0)", "2:11 parse-syntax"},
      {"a = token parameter(0)", "2:11 parse-syntax"},
      {"a = token[]{:S(1)} parameter(0)", "2:12 parse-layout"},
      {"a = f32[2]{} parameter(0)", "2:11 parse-syntax"},
      {"a = f32[2]{1,0} parameter(0)", "2:11 parse-layout"},
      {"a = f32[2]{0:S(1)T(8)} parameter(0)", "2:18 parse-syntax"},
      {"a = f32[2]{0:P(f32[2])} parameter(0)", "2:15 parse-layout"},
      {"a = (f32[2],) parameter(0)", "2:13 parse-syntax"},
      {"a = (f32[2]){0} parameter(0)", "2:13 parse-syntax"},
      {"a = I32[2] parameter(0)", "2:5 parse-type"},
  };
  CHECK_BODIES(rows);
}

static void operands_are_checked(void **state) {
  (void)state;
  static const Row rows[] = {
      {"p = f32[3] parameter(0)\nq = f32[3] negate(f32[<=3]{0} p)", ""},
      {"p = f32[3] parameter(0)\nq = f32[3] negate(f32[4] p)", "3:19 parse-operand-shape"},
      {"p = f32[3] parameter(0)\nq = f32[3] add(negate(p), f32[3] abs(f32[3] p))", ""},
      {"p = f32[3] parameter(0)\nq = f32[3] add(, p,, p,)", ""},
      {"p = f32[3] parameter(0)\nq = f32[3] negate(reverse(p))", "3:19 parse-missing-attribute"},
      {"p = f32[3] parameter(0)\nq = f32[3] add(p, 1)", "3:19 parse-syntax"},
      {"p = f32[3] parameter(0)\nq = f32[3] add(p p)", "3:18 parse-syntax"},
      {"p = f32[3] parameter(0)\nq = f32[3] dot(p)", "3:15 parse-operand-count"},
      {"p = f32[3] parameter(0)\nq = reshape(p)", "3:5 parse-missing-shape"},
      {"p = f32[3] parameter(0)\nq = constant(1)", "3:5 parse-missing-shape"},
      {"p = f32[3] parameter(0)\nq = f32[4] parameter(1)\nr = add(p, q)", "4:5 infer-add"},
      {"p = f32[3] parameter(0)\nq = f32[9] add(p, p)", ""}, /* the verifier's business */
      {"p = f32[3] parameter(0)\nq = f32[3] negate(p), control-predecessors={p}", ""},
      {"p = f32[3] parameter(0)\nq = f32[3] negate(p), control-predecessors={}", "3:45 parse-syntax"},
      {"p = f32[3] parameter(0)\nq = f32[3] negate(p), control-predecessors={q}", "3:45 parse-operand"},
  };
  CHECK_BODIES(rows);
}

static void rules_of_opcodes_are_checked(void **state) {
  (void)state;
  static const Row rows[] = {
      {"p = f32[3] parameter(0)\nq = f32[2,3] broadcast(p)", "3:14 parse-missing-attribute"},
      {"p = f32[] parameter(0)\nq = f32[2,3] broadcast(p)", ""},
      {"p = f32[3] parameter(0)\nq = (f32[3], f32[3]) tuple(p)", "3:27 parse-operand-count"},
      {"p = f32[3] parameter(0)\nq = f32[3] tuple(p)", "3:5 parse-shape"},
      {"p = f32[3] parameter(0)\nq = f32[6] concatenate(p, p), dimensions={0,0}", "3:31 parse-attribute-value"},
      {"p = f32[3,4] parameter(0)\ni = s32[] parameter(1)\nq = f32[1,1] dynamic-slice(p, i), dynamic_slice_sizes={1,1}",
       "4:27 parse-operand-count"},
      {"p = f32[3,4] parameter(0)\ni = s32[2] parameter(1)\nq = f32[1,1] dynamic-slice(p, i), "
       "dynamic_slice_sizes={1,1}",
       ""},
      {"p = f32[] parameter(0)\nq = f32[] conditional(p, p, p), true_computation={ ROOT x = f32[] parameter(0) }, "
       "false_computation={ ROOT x = f32[] parameter(0) }",
       "3:22 parse-operand-shape"},
      {"i = s32[] parameter(0)\nq = s32[] conditional(i, i), branch_computations={{ ROOT x = s32[] parameter(0) }, { "
       "ROOT x = s32[] parameter(0) }}",
       "3:22 parse-operand-count"},
      {"i = pred[] parameter(0)\nq = pred[] conditional(i, i), branch_computations={{ ROOT x = pred[] parameter(0) }}",
       "3:12 parse-missing-attribute"},
      {"t = token[] after-all()\ni = () infeed(t)", "3:5 parse-shape"},
      {"p = f32[2] parameter(0)\nq = f32[2] collective-permute(p), source_target_pairs={{0,1,2}}",
       "3:35 parse-attribute-value"},
      {"p = f32[2] parameter(0)\nq = f32[2] custom-call(p), custom_call_target=\"t\", operand_layout_constraints={}",
       "3:52 parse-attribute-value"},
      {"p = f32[2] parameter(0)\nq = f32[2] custom-call(p), custom_call_target=\"t\", literal=s32[2]{0} {1, 2}", ""},
      {"p = f32[2] parameter(0)\nq = f32[2] custom-call(p), custom_call_target=\"t\", "
       "api_version=API_VERSION_UNSPECIFIED",
       "3:64 parse-enum"},
      {"p = f32[2] parameter(0)\nq = (f32[2]) negate-start(p)", "3:5 parse-async"},
      {"p = f32[2] parameter(0)\ns = ((f32[2]), f32[2]) negate-start(p)\nd = f32[2] abs-done(s)", "4:12 parse-async"},
      {"p = f32[2] parameter(0)\nd = f32[2] negate-done(p)", "3:23 parse-async"},
      {"p = f32[2] parameter(0)\nd = f32[2] all-reduce-update(p)", "3:12 parse-opcode"},
      {"p = f32[2] parameter(0)\nq = f32[4] pad(p, p), padding=1_1, padding=1_1", "3:36 parse-duplicate-attribute"},
      {"p = f32[2] parameter(0)\nq = f32[2] domain(p), domain={kind=\"sharding\", entry={maximal device=1}}",
       "3:30 parse-missing-attribute"},
  };
  CHECK_BODIES(rows);
}

static void attribute_values_are_checked(void **state) {
  (void)state;
  static const Row rows[] = {
      {"p = f32[2] parameter(0), sharding={devices=[2,1]<=[2]}", ""},
      {"p = f32[2] parameter(0), sharding={devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}", ""},
      {"p = f32[2] parameter(0), sharding={devices=[2,2]<=[2,2]}", "2:56 parse-syntax"},
      {"p = f32[2] parameter(0), sharding={devices=[2]<=[2]T(1)}", "2:52 parse-syntax"},
      {"p = f32[2] parameter(0), sharding={maximal}", "2:36 parse-sharding"},
      {"p = f32[2] parameter(0), sharding={replicated device=1}", "2:36 parse-sharding"},
      {"p = f32[2] parameter(0), sharding={replicated manual}", ""},
      {"p = f32[2] parameter(0), sharding={mesh[\"x\"=2,\"y\"=4], [{\"x\", ?}], replicated={'y'}}", ""},
      {"p = f32[2] parameter(0), sharding={mesh[\"x\"=2] [{\"y\"}]}", "2:50 parse-mesh"},
      {"p = f32[2] parameter(0), sharding={mesh[\"x\"=2,\"x\"=2], [{}]}", "2:47 parse-mesh"},
      {"p = f32[2] parameter(0), sharding={mesh[\"x\"=2], device_ids=(0,1,2), [{}]}", "2:60 parse-mesh"},
      {"p = f32[2] parameter(0), sharding={mesh[\"x\"=4], device_ids=([2,2]T(1,0)), [{\"x\":(2)2}]}", ""},
      {"p = f32[2] parameter(0), statistics={a=1.5}", "2:40 parse-syntax"},
      {"p = f32[2] parameter(0), statistics={a=1,nan=nan,inf=inf}", ""},
      {"p = f32[2] parameter(0), origin={({\"a\"}, {\"b\" {0}}, {})}", ""},
      {"p = f32[2] parameter(0), origin={[synthetic_call]}", ""},
      {"p = f32[2] parameter(0), origin={,}", "2:34 parse-syntax"},
      {"p = f32[2] parameter(0), metadata={op_name=\"a\", op_name=\"b\"}", "2:49 parse-duplicate-attribute"},
      {"p = f32[2] parameter(0), metadata={op_name=\"a\",}", "2:48 parse-syntax"},
      {"p = f32[2] parameter(0), metadata={source_line=4294967296}", "2:48 parse-number"},
      {"p = f32[2] parameter(0), backend_config={\"a\": {\"b\": \"}\"}}", ""},
      {"p = f32[2] parameter(0), backend_config={\"a\": {{\"b\": \"}\"}", "2:41 parse-dictionary"},
      {"p = f32[2] parameter(0), frontend_attributes={a.b-c=\"1\",d={x}}", ""},
      {"p = f32[2] parameter(0), frontend_attributes={a=1}", "2:49 parse-syntax"},
      {"p = f32[4] parameter(0)\nq = f32[2] slice(p), slice={[0:4:2]}", ""},
      {"p = f32[4] parameter(0)\nq = f32[2] slice(p), slice={[0]}", "3:31 parse-syntax"},
      {"p = f32[4] parameter(0)\nq = f32[2] reduce-window(p, p), window={size=2 size=2}, to_apply={ ROOT x = f32[] "
       "parameter(0) }",
       "3:48 parse-duplicate-attribute"},
      {"p = f32[4] parameter(0)\nq = f32[2] reduce-window(p, p), window={size=2 stride=2x2}, to_apply={ ROOT x = f32[] "
       "parameter(0) }",
       "3:40 parse-window"},
      {"p = f32[4] parameter(0)\nq = f32[2] reduce-window(p, p), window={size=2 pad=0_0_0}, to_apply={ ROOT x = f32[] "
       "parameter(0) }",
       "3:40 parse-window"},
      {"p = f32[1,2,3] parameter(0)\nq = f32[1] convolution(p, p), dim_labels=bf1_io0->bf0", "3:42 parse-dim-labels"},
      {"p = f32[1,2,3] parameter(0)\nq = f32[1] convolution(p, p), dim_labels=bf0_io0->bf?", "3:42 parse-dim-labels"},
      {"p = f32[1,2,3] parameter(0)\nq = f32[1] convolution(p, p), dim_labels=bf00_io0->bf0", "3:42 parse-dim-labels"},
      {"p = f32[4] parameter(0)\nq = f32[4] all-to-all(p), replica_groups={0,1}", "3:43 parse-syntax"},
      {"p = f32[4] parameter(0)\nq = f32[4] all-to-all(p), replica_groups=[2,1,1]<=[2]", "3:42 parse-replica-groups"},
      {"p = f32[4] parameter(0)\nq = f32[4] exponential(p), result_accuracy={mode=highest, tolerance={}}",
       "3:57 parse-syntax"},
      {"p = f32[4] parameter(0)\nq = f32[4] exponential(p), result_accuracy={tolerance={atol=0, rtol=1e-6, ulps=2}}",
       ""},
      {"p = f32[4,4] parameter(0)\nq = f32[4,4] triangular-solve(p, p), transpose_a=SIDEWAYS", "3:50 parse-enum"},
      {"p = f32[4] parameter(0)\nq = f32[4] rng(p, p), distribution=RNG_Uniform", ""},
      {"p = f32[4] parameter(0)\nq = pred[4] compare(p, p), direction=\"LT\"", "3:38 parse-syntax"},
  };
  CHECK_BODIES(rows);
}

static void computations_are_checked(void **state) {
  (void)state;
  assert_rejected("HloModule m\na { ROOT x = f32[] parameter(0) }\na { ROOT x = f32[] parameter(0) }",
                  "3:1 parse-duplicate-name");
  assert_rejected("HloModule m\nENTRY a { ROOT x = f32[] parameter(0) }\nENTRY b { ROOT x = f32[] foo() }",
                  "3:1 parse-entry\n3:26 parse-opcode");
  assert_rejected("HloModule m\n", "2:1 parse-syntax");
  assert_rejected("", "1:1 parse-syntax");
  assert_rejected("HloModule m\nENTRY e {\n  p = f32[] parameter(0)\nENTRY f {\n  ROOT q = f32[] foo() }\n",
                  "4:1 parse-syntax\n4:1 parse-entry\n5:18 parse-opcode");
  assert_rejected(
      "HloModule m\na {\n  p = f32[] foo()\n}\nb (p f32[]) -> {\n  q = f32[] bar()\n}\nENTRY c {\n  p = f32[] "
      "parameter(0)\n  q = f32[] call(p), to_apply=a\n  ROOT r = f32[] baz()\n}\n",
      "3:13 parse-opcode\n5:16 parse-syntax\n11:18 parse-opcode");
  assert_rejected("ENTRY e { p = f32[] parameter(0) ROOT q = f32[] call(p), to_apply=e }", "1:67 parse-computation");
  assert_rejected("ENTRY e (p: f32[]) -> f32[2] { ROOT p = f32[] parameter(0) }", "1:9 parse-signature");
  assert_rejected("ENTRY e { ROOT p = f32[] parameter(0) }, execution_thread=1", "1:59 parse-syntax");
  assert_accepted("ENTRY e (x: s32[7]) -> f32[] { ROOT p = f32[] parameter(0) }, execution_thread=\"host\"");
}

static void header_is_checked(void **state) {
  (void)state;
  static const Row rows[] = {
      {"is_scheduled=true, entry_computation_layout={(f32[],)->f32[]}, replica_count=2", ""},
      {"is_scheduled=1", "1:27 parse-syntax"},
      {"is_scheduled=true, is_scheduled=true", "1:33 parse-duplicate-attribute"},
      {"foo=1", "1:14 parse-attribute"},
      {"input_output_alias={ {}: (0, {}, must-alias), }", ""},
      {"input_output_alias={ {0}: (0, {}) }", "1:35 parse-header"},
      {"input_output_alias={ {}: (0, {}, always) }", "1:47 parse-syntax"},
      {"buffer_donor={ (-1, {}) }", "1:29 parse-header"},
      {"allow_spmd_sharding_propagation_to_output={true,false}", ""},
      {"origin_recovery_table={ {\"a\"} : {\"b\" {0}}, \"text\" {\"c\"} : {} }", ""},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    Arena *arena = arena_create();
    ParseResult *result =
        parse_text(arena_printf(arena, "HloModule m, %s\nENTRY e { ROOT p = f32[] parameter(0) }", rows[i].body));
    if (strcmp(parse_errors(result), rows[i].errors) != 0) fail_msg("%s: %s", rows[i].body, parse_errors(result));
    parse_free(result);
    arena_destroy(arena);
  }
}

/* --- advice --- */

static void check_note(const char *body, const char *wanted) {
  Arena *arena = arena_create();
  ParseResult *result = parse_text(in_entry(arena, body));
  assert_int_equal(result->diag.error_count, 1);
  const Diagnostic *note = result->diag.first->notes;
  if (!note) fail_msg("%s: no note", body);
  if (!sv_equal_cstring(note->message, wanted)) fail_msg("%s: %.*s", body, SV_ARG(note->message));
  parse_free(result);
  arena_destroy(arena);
}

static void misspellings_are_recognised(void **state) {
  (void)state;
  check_note("a = f32[] parameter(0)\nb = f32[] ngeate(a)", "did you mean 'negate'?");
  check_note("a = f32[] parameter(0)\nb = f32[] mul(a, a)", "did you mean 'multiply'?");
  check_note("a = f23[] parameter(0)", "did you mean 'f32'?");
  check_note("a = i32[] parameter(0)", "did you mean 's32'?");
  check_note("alpha = f32[] parameter(0)\nb = f32[] negate(alhpa)", "did you mean 'alpha'?");
  check_note("a = f32[2] parameter(0)\nb = f32[2] reverse(a), dimension={0}", "did you mean 'dimensions'?");
  check_note("a = f32[2] parameter(0)\nb = pred[2] compare(a, a), direction=lt", "did you mean 'LT'?");
  check_note("a = f32[2] parameter(0), metadata={op_nam=\"\"}", "did you mean 'op_name'?");
  check_note("a = f32[] negate(z)\nROOT z = f32[] parameter(0)",
             "'z' is defined here; operands come before their users");
  check_note("a = f32[] add(1, 2)", "a constant is an instruction: c = f32[] constant(1)");
}

static void words_of_the_language_that_name_an_instruction_are_told_another_way(void **state) {
  (void)state;
  check_note("inf = f32[] constant(inf)\nb = f32[] negate(inf)", "'%inf' would do");
  check_note("nan = f32[] constant(nan)\nROOT b = f32[] add(nan, nan)", "'%nan' would do");
  check_note("f32 = f32[] parameter(0)\nb = f32[] negate(f32)", "'f32_' would do");
  check_note("%f32 = f32[] parameter(0)", "'f32_' would do");
}

/* --- limits --- */

static const char *repeat(Arena *arena, const char *head, const char *text, int64_t count) {
  StringBuilder out;
  sb_init(&out, arena);
  sb_append_cstring(&out, head);
  for (int64_t i = 0; i < count; i++) sb_append_cstring(&out, text);
  return out.data;
}

static void deep_nesting_is_one_error(void **state) {
  (void)state;
  static const Row rows[] = {
      {"ENTRY e { p = ", "("},
      {"ENTRY e { p = ", "b("},
      {"ENTRY e { p = f32[] ", "add("},
      {"ENTRY e { p = f32[] ", "call(), to_apply={ p = f32[] "},
      {"ENTRY e { p = f32[] parameter(0), origin={", "("},
      {"ENTRY e { p = f32[] custom-call(), custom_call_target=\"\", literal=", "("},
      {"HloModule m, entry_computation_layout={", "("},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    Arena *arena = arena_create();
    ParseResult *result = parse_text(repeat(arena, rows[i].body, rows[i].errors, 300000));
    assert_int_equal(result->diag.error_count, 1);
    if (strcmp(result->diag.first->code, "parse-nesting") != 0) fail_msg("%s: %s", rows[i].body, parse_errors(result));
    parse_free(result);
    arena_destroy(arena);
  }
}

/* Tuples that nest or double line by line, without a shape in the text. */
static void inferred_tuples_are_limited(void **state) {
  (void)state;
  static const struct {
    const char *code;
    int count;
  } rows[] = {{"parse-nesting", 100000}, {"parse-shape", 100}};
  for (int r = 0; r < 2; r++) {
    Arena *arena = arena_create();
    StringBuilder body;
    sb_init(&body, arena);
    sb_append_cstring(&body, "t0 = f32[] parameter(0)\n");
    for (int i = 1; i < rows[r].count; i++) {
      char line[200];
      if (r == 0) {
        snprintf(line, sizeof(line), "t%d = tuple(t%d)\n", i, i - 1);
      } else {
        snprintf(line, sizeof(line), "t%d = tuple(t%d, t%d, t%d, t%d)\n", i, i - 1, i - 1, i - 1, i - 1);
      }
      sb_append_cstring(&body, line);
    }
    ParseResult *result = parse_text(in_entry(arena, body.data));
    assert_int_equal(result->diag.error_count, 1);
    assert_string_equal(result->diag.first->code, rows[r].code);
    parse_free(result);
    arena_destroy(arena);
  }
}

static void errors_are_limited(void **state) {
  (void)state;
  Arena *arena = arena_create();
  ParseResult *result = parse_text(repeat(arena, "ENTRY e {\n", "p = f33[] parameter(0)\n", 100000));
  assert_true(result->diag.error_count <= 51);
  parse_free(result);
  /* nothing in here is an error twice over, and nothing takes quadratic time */
  result = parse_text(repeat(arena, "ENTRY e {\n", "\\' \\\"\n", 100000));
  assert_true(result->diag.error_count > 0);
  parse_free(result);
  arena_destroy(arena);
}

static void tuple_of_allowed_depth_is_accepted(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const char *open = repeat(arena, "ENTRY e { p = ", "(", 199), *close = repeat(arena, "f32[]", ")", 199);
  assert_accepted(arena_printf(arena, "%s%s parameter(0) }", open, close));
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(errors_do_not_cascade),
      cmocka_unit_test(names_are_checked),
      cmocka_unit_test(parameters_are_checked),
      cmocka_unit_test(shapes_are_checked),
      cmocka_unit_test(operands_are_checked),
      cmocka_unit_test(rules_of_opcodes_are_checked),
      cmocka_unit_test(attribute_values_are_checked),
      cmocka_unit_test(computations_are_checked),
      cmocka_unit_test(header_is_checked),
      cmocka_unit_test(misspellings_are_recognised),
      cmocka_unit_test(words_of_the_language_that_name_an_instruction_are_told_another_way),
      cmocka_unit_test(deep_nesting_is_one_error),
      cmocka_unit_test(errors_are_limited),
      cmocka_unit_test(inferred_tuples_are_limited),
      cmocka_unit_test(tuple_of_allowed_depth_is_accepted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
