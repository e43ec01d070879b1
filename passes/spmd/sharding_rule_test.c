/* Rules against what einsum would write: a letter for each factor, in the order in which they are made. */
#include "passes/spmd/sharding_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the above, as cmocka wants it */
#include <cmocka.h>

#include "parser/hlo_parser.h"

typedef struct RuleCase {
  const char *text; /* the instructions of the entry, the last one ROOT */
  const char *rule; /* of the root: "ij,jk->ik i=8 k=6 j=4+": + reduction, ~ permutation, ! replicated; (ab) a product,
                       . without a factor */
} RuleCase;

static const char regions[] =
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
    "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }\n";

#define P(name, shape, number) #name " = " shape " parameter(" #number ")\n"

static const RuleCase rule_cases[] = {
    {P(x, "f32[4,6]", 0) "ROOT r = f32[4,6] add(x, x)", "ab,ab->ab a=4 b=6"},
    /* a bound for all, a dimension of one element */
    {P(x, "f32[4,1]", 0) P(l, "f32[]", 1) "ROOT r = f32[4,1] clamp(l, x, l)", ",a.,->a. a=4"},
    {P(x, "f32[4]", 0) "ROOT r = f32[3,4] broadcast(x), dimensions={1}", "b->ab a=3 b=4"},
    {P(x, "f32[2,3,4]", 0) "ROOT r = f32[4,2,3] transpose(x), dimensions={2,0,1}", "bca->abc a=4 b=2 c=3"},
    {"ROOT r = s32[5,2] iota(), iota_dimension=0", "->ab a=5 b=2"},
    /* reshape: factors are what both sides can be divided by, from the slowest on */
    {P(x, "f32[6,4]", 0) "ROOT r = f32[2,12] reshape(x)", "(ab)c->a(bc) a=2 b=3 c=4"},
    {P(x, "f32[8,1,3]", 0) "ROOT r = f32[24] reshape(x)", "a.b->(ab) a=8 b=3"},
    {P(x, "f32[24]", 0) "ROOT r = f32[2,3,4] reshape(x)", "(abc)->abc a=2 b=3 c=4"},
    /* four of six: two is common, what is left of both is not, but the last dimension meets again */
    {P(x, "f32[6,4,5]", 0) "ROOT r = f32[4,6,5] reshape(x)", "..a->..a a=5"},
    /* dot: batches, what only one side has, what is summed */
    {P(x, "f32[8,4]", 0)
         P(y, "f32[4,6]", 1) "ROOT r = f32[8,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     "ac,cb->ab a=8 b=6 c=4+"},
    {P(x, "f32[3,8,4]", 0)
         P(y, "f32[6,3,4]",
           1) "ROOT r = f32[3,8,6] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, "
              "rhs_contracting_dims={2}",
     "abd,cad->abc a=3 b=8 c=6 d=4+"},
    {P(x, "f32[4,6]", 0) P(z, "f32[]", 1) "ROOT r = f32[6] reduce(x, z), dimensions={0}, to_apply=sum",
     "ab,->b a=4+ b=6"},
    /* windows: a dimension without one passes */
    {P(x, "f32[4,9]", 0) P(z, "f32[]", 1) "ROOT r = f32[4,7] reduce-window(x, z), window={size=1x3}, to_apply=sum",
     "ab,->ab a=4 b=7~"},
    {P(x, "f32[4,6]", 0) P(s, "f32[4,3]", 1)
         P(z, "f32[]",
           2) "ROOT r = f32[4,6] select-and-scatter(x, s, z), window={size=1x2 stride=1x2}, select=ge, scatter=sum",
     "ab,ab,->ab a=4 b=6~"},
    {P(x, "f32[2,9,3]", 0)
         P(k, "f32[5,3,7]", 1) "ROOT r = f32[2,5,7] convolution(x, k), window={size=5}, dim_labels=b0f_0io->b0f",
     "adb,.bc->adc a=2 b=3+ c=7 d=9~"},
    /* two groups: the slower part of the features of operand and result */
    {P(x, "f32[2,9,6]", 0)
         P(k, "f32[5,3,8]",
           1) "ROOT r = f32[2,5,8] convolution(x, k), window={size=5}, dim_labels=b0f_0io->b0f, feature_group_count=2",
     "be(ac),.c(ad)->be(ad) a=2 b=2 c=3+ d=4 e=9~"},
    /* slices and the like move elements along a dimension that they change */
    {P(x, "f32[4,6]", 0) "ROOT r = f32[4,3] slice(x), slice={[0:4], [1:4]}", "ab->ab a=4 b=3~"},
    {P(x, "f32[4,6]", 0) P(z, "f32[]", 1) "ROOT r = f32[5,6] pad(x, z), padding=1_0x0_0", "ab,->ab a=5~ b=6"},
    {P(x, "f32[4,6]", 0) P(y, "f32[4,2]", 1) "ROOT r = f32[4,8] concatenate(x, y), dimensions={1}",
     "ab,ab->ab a=4 b=8~"},
    {P(x, "f32[4,6]", 0) "ROOT r = f32[4,6] reverse(x), dimensions={0}", "ab->ab a=4~ b=6"},
    /* lines are needed whole */
    {P(x, "f32[4,6]", 0) "ROOT r = f32[4,6] sort(x), dimensions={1}, to_apply=ge", "ab->ab a=4 b=6!"},
    {P(x, "c64[4,6]", 0) "ROOT r = c64[4,6] fft(x), fft_type=FFT, fft_length={6}", "a.->a. a=4"},
    {P(x, "f32[3,4,4]", 0) "ROOT r = f32[3,4,4] cholesky(x), lower=true", "a..->a.. a=3"},
    {P(x, "f32[4,6]", 0) P(i, "s32[]", 1) "ROOT r = f32[4,2] dynamic-slice(x, i, i), dynamic_slice_sizes={4,2}",
     "ab,,->a. a=4 b=6!"},
    {P(x, "f32[4,6]", 0) P(u, "f32[4,2]", 1) P(i, "s32[]", 2) "ROOT r = f32[4,6] dynamic-update-slice(x, u, i, i)",
     "ab,ac,,->ab a=4 b=6 c=2!"},
    /* rows of a table: devices have some, and what the others do not have is summed up */
    {P(x, "f32[10,6]", 0)
         P(i, "s32[5,1]",
           1) "ROOT r = f32[5,6] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
              "index_vector_dim=1, slice_sizes={1,6}",
     "ab,c.->cb a=10+ b=6 c=5"},
    {P(x, "f32[10,6]", 0) P(i, "s32[5,1]", 1)
         P(u, "f32[5,6]", 2) "ROOT r = f32[10,6] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                             "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum",
     "ab,c.,cb->ab a=10~ b=6 c=5+"},
    {P(x, "f32[4,6]", 0) "ROOT r = f32[4,6] custom-call(x), custom_call_target=\"unheard\"", "..->.. "},
};

static void append_mapping(StringBuilder *out, const FactorMapping *mapping) {
  for (int d = 0; d < mapping->rank; d++) {
    const FactorList *factors = &mapping->dims[d];
    if (factors->count == 0) sb_append_char(out, '.');
    if (factors->count > 1) sb_append_char(out, '(');
    for (int i = 0; i < factors->count; i++) sb_append_char(out, (char)('a' + factors->factors[i]));
    if (factors->count > 1) sb_append_char(out, ')');
  }
}

static const char *rule_text(Arena *arena, const ShardingRule *rule) {
  static const char *const kinds[] = {
      [FACTOR_PASS] = "", [FACTOR_REDUCTION] = "+", [FACTOR_PERMUTATION] = "~", [FACTOR_REPLICATED] = "!"};
  StringBuilder out;
  sb_init(&out, arena);
  for (int i = 0; i < rule->operand_count; i++) {
    if (i > 0) sb_append_char(&out, ',');
    append_mapping(&out, &rule->operands[i]);
  }
  sb_append_cstring(&out, "->");
  for (int i = 0; i < rule->result_count; i++) append_mapping(&out, &rule->results[i]);
  for (int f = 0; f < rule->factor_count; f++)
    sb_printf(&out, " %c=%d%s", 'a' + f, (int)rule->factors[f].size, kinds[rule->factors[f].kind]);
  if (rule->factor_count == 0) sb_append_char(&out, ' ');
  sb_append_char(&out, '\0');
  return out.data;
}

static const HloInstruction *root_of(Arena *arena, const char *text) {
  SourceFile *file = ARENA_NEW(arena, SourceFile);
  *file = (SourceFile){SV("rule"), sv_printf(arena, "HloModule m\n%sENTRY e {\n%s\n}\n", regions, text)};
  DiagSink diag;
  diag_sink_init(&diag, arena);
  HloModule *module;
  if (hlo_parse_module(arena, shape_table_create(arena), file, &diag, &module) != STATUS_OK)
    fail_msg("%s: %.*s", text, SV_ARG(diag.first->message));
  return module->entry->root;
}

static void rules_are_those_of_einsum(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rule_cases / sizeof *rule_cases; i++) {
    Arena *arena = arena_create();
    const char *found = rule_text(arena, sharding_rule(arena, root_of(arena, rule_cases[i].text)));
    if (strcmp(found, rule_cases[i].rule) != 0)
      fail_msg("%s\nhas the rule %s instead of %s", rule_cases[i].text, found, rule_cases[i].rule);
    arena_destroy(arena);
  }
}

/* A dimension of several factors is divided along the slowest in full tiles only; one of its own in any. */
static void shared_dimensions_are_divided_evenly(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const HloInstruction *reshape = root_of(arena, P(x, "f32[6,5]", 0) "ROOT r = f32[2,3,5] reshape(x)");
  const bool *full = sharding_rule_full_factors(arena, reshape, sharding_rule(arena, reshape));
  assert_true(full[0] && full[1] && !full[2]);
  const HloInstruction *sum = root_of(arena, P(x, "f32[6,5]", 0) "ROOT r = f32[6,5] add(x, x)");
  full = sharding_rule_full_factors(arena, sum, sharding_rule(arena, sum));
  assert_true(!full[0] && !full[1]);
  arena_destroy(arena);
}

/* A convolution's windows summed up in parts: the window and what it slides over are one factor more. */
static void a_rule_gets_another_sum(void **state) {
  (void)state;
  Arena *arena = arena_create();
  const HloInstruction *convolution = root_of(
      arena, P(x, "f32[2,9,3]", 0) P(
                 k, "f32[9,3,7]", 1) "ROOT r = f32[2,1,7] convolution(x, k), window={size=9}, dim_labels=b0f_0io->b0f");
  const ShardingRule *rule =
      sharding_rule_with_sum(arena, sharding_rule(arena, convolution), 9, (SummedDim[]){{0, 1}, {1, 0}}, 2, 1);
  assert_string_equal(rule_text(arena, rule), "aeb,ebc->a.c a=2 b=3+ c=7 d=9~ e=9+");
  int dim, place;
  assert_true(factor_find(&rule->operands[1], 4, &dim, &place) && dim == 0 && place == 0);
  assert_false(factor_find(&rule->results[0], 4, &dim, &place));
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_are_those_of_einsum),
      cmocka_unit_test(shared_dimensions_are_divided_evenly),
      cmocka_unit_test(a_rule_gets_another_sum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
