/* Plans of the corpus, broken in every way by the thousand: buffer_assignment_verify refuses each mutant.
 *
 * Of each plan and kind XLAC_MUTANTS mutants are made (60), spread over all there are, of the plans of some cases, or
 * of all cases with XLAC_MUTANTS_CASES=all. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_io.h"
#include "base/fixture_testing.h"
#include "compiler/compilation.h"
#include "hlo/analysis/plan_mutants_testing.h"

enum { MUTANTS = 60, FEWEST = 500, MOST_BYTES = 1 << 20 };

typedef struct MutantPlan {
  const char *name;
  Arena *arena;
  Compilation compilation;
  int64_t wanted, made;
} MutantPlan;

static bool is_refused(MutantPlan *plan) {
  DiagSink diag;
  diag_sink_init(&diag, plan->arena);
  plan->made++;
  return buffer_assignment_verify(plan->compilation.assignment, plan->compilation.module, &diag) == STATUS_INVALID;
}

/* A kind of mutant: makes the one of these two buffers, if there is one. */
typedef bool Mutation(const BufferAssignment *assignment, const HloBuffer *a, HloBuffer *b);

static bool drop_interference(const BufferAssignment *assignment, const HloBuffer *a, HloBuffer *b) {
  if (b->size > a->size || !are_alive_together(assignment, a, b)) return false;
  place_over(b, a);
  return true;
}

static bool move_before(const BufferAssignment *assignment, const HloBuffer *a, HloBuffer *b) {
  return are_alive_together(assignment, a, b) && place_at_edge(assignment, b, a, false);
}

static bool move_behind(const BufferAssignment *assignment, const HloBuffer *a, HloBuffer *b) {
  return are_alive_together(assignment, a, b) && place_at_edge(assignment, b, a, true);
}

/* Where the last but one of all positions is at which something reads |value| or makes it. */
static int64_t shortened_end(const BufferAssignment *assignment, const HloValue *value) {
  int64_t end = value->live_from;
  for (int32_t u = 0; u < value->use_count; u++) {
    for (int64_t p = value->live_from; p < value->live_to; p++) {
      if (assignment->schedule[p] == value->uses[u].user && p > end) end = p;
    }
  }
  return end;
}

/* As if |a| had ended with its reader before the last: what begins after that and before the last reader gets its
 * bytes. Only values that are read at two positions or more. */
static bool shorten_range(const BufferAssignment *assignment, const HloBuffer *a, HloBuffer *b) {
  const HloValue *value = &assignment->values[a->values[a->value_count - 1]];
  const HloValue *next = &assignment->values[b->values[0]];
  if (b->size > a->size || value->range_count != 1 || next->range_count != 1 || next->use_count == 0) return false;
  if (value->use_count < 2 || next->live_from >= value->live_to) return false;
  if (next->live_from <= shortened_end(assignment, value)) return false;
  place_over(b, a);
  return true;
}

/* Applies |mutation| to pairs of buffers, about |wanted| of all there are. */
static void mutate(MutantPlan *plan, Mutation *mutation, const char *kind) {
  BufferAssignment *assignment = plan->compilation.assignment;
  int64_t count = assignment->buffer_count, pairs = count * count, made = 0;
  int64_t step = pairs / (plan->wanted * 1024) + 1; /* most pairs are no mutants */
  if (step % 2 == 0 || count % step == 0) step++;   /* not in one column */
  for (int64_t p = 0; p < pairs && made < plan->wanted; p += step) {
    HloBuffer *a = &assignment->buffers[p / count], *b = &assignment->buffers[p % count], kept = *b;
    if (a == b || !is_placed_freely(assignment, a) || !is_placed_freely(assignment, b)) continue;
    if (!mutation(assignment, a, b)) continue;
    made++;
    if (!is_refused(plan)) {
      const HloInstruction *of_a = assignment->values[a->values[0]].definition.instruction;
      const HloInstruction *of_b = assignment->values[b->values[0]].definition.instruction;
      fail_msg("%s: %s of '%.*s' over '%.*s' is accepted", plan->name, kind, SV_ARG(of_b->name), SV_ARG(of_a->name));
    }
    *b = kept;
  }
}

/* Scratch over a value that is alive before and after its Kernel runs. */
static void misplace_scratch(MutantPlan *plan) {
  BufferAssignment *assignment = plan->compilation.assignment;
  int64_t made = 0;
  for (int32_t s = 0; s < assignment->scratch_count; s++) {
    BufferScratch *scratch = &assignment->scratches[s], kept = *scratch;
    for (int32_t v = 0; v < assignment->value_count && made < plan->wanted; v++) {
      const HloValue *value = &assignment->values[v];
      const HloBuffer *buffer = &assignment->buffers[value->buffer];
      if (!is_placed_freely(assignment, buffer) || buffer->allocation != scratch->allocation) continue;
      if (value->range_count != 1 || value->live_from >= scratch->position || value->live_to <= scratch->position)
        continue;
      if (buffer->offset / 64 * 64 + scratch->size > assignment->allocations[scratch->allocation].size) continue;
      scratch->offset = buffer->offset / 64 * 64;
      made++;
      if (!is_refused(plan))
        fail_msg("%s: scratch of '%.*s' over '%.*s' is accepted", plan->name, SV_ARG(scratch->instruction->name),
                 SV_ARG(value->definition.instruction->name));
      *scratch = kept;
    }
  }
}

static int64_t mutate_case(const char *name, int64_t wanted) {
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  MutantPlan *plan = ARENA_NEW(arena, MutantPlan);
  *plan = (MutantPlan){.name = name, .arena = arena, .wanted = wanted};
  SourceFile *source = ARENA_NEW(arena, SourceFile);
  const char *path = arena_printf(arena, "testdata/cases/%s/module.hlo", name);
  source->name = sv_from_cstring(path);
  const CompilationOptions options = {.opt_level = 2, .without_code = true};
  compilation_init(&plan->compilation, arena, &options, &diag);
  int64_t made = 0;
  if (file_read(arena, path, &diag, &source->text) == STATUS_OK && source->text.size < MOST_BYTES &&
      compilation_load(&plan->compilation, source) == STATUS_OK &&
      compilation_run_passes(&plan->compilation) == STATUS_OK && plan->compilation.assignment != NULL) {
    mutate(plan, drop_interference, "a dropped interference");
    mutate(plan, move_before, "a moved offset");
    mutate(plan, move_behind, "a moved offset");
    mutate(plan, shorten_range, "a shortened range");
    misplace_scratch(plan);
    assert_int_equal(buffer_assignment_verify(plan->compilation.assignment, plan->compilation.module, &diag),
                     STATUS_OK);
    made = plan->made;
  }
  arena_destroy(arena);
  return made;
}

static const char *const sample[] = {"torch_encoder_train_step",
                                     "bert_base_12layer",
                                     "while_loop",
                                     "mlp_train_sgd",
                                     "ctc_loss",
                                     "bert_1layer",
                                     "jax_attention_grad",
                                     "beam_search",
                                     "torch_batch_norm_train",
                                     "linalg_eig_f64",
                                     "perf_reduce_axes"};

static int64_t mutate_all_cases(int64_t wanted) {
  int64_t made = 0;
  DIR *cases = opendir("testdata/cases");
  assert_non_null(cases);
  for (struct dirent *entry; (entry = readdir(cases)) != NULL;) {
    if (entry->d_name[0] != '.') made += mutate_case(entry->d_name, wanted);
  }
  closedir(cases);
  return made;
}

static void verify_refuses_mutants_of_the_corpus(void **state) {
  (void)state;
  const char *mutants = getenv("XLAC_MUTANTS"), *cases = getenv("XLAC_MUTANTS_CASES");
  int64_t wanted = mutants != NULL ? strtoll(mutants, NULL, 10) : MUTANTS, made = 0;
  if (cases != NULL && strcmp(cases, "all") == 0) {
    made = mutate_all_cases(wanted);
  } else {
    for (size_t i = 0; i < sizeof sample / sizeof sample[0]; i++) made += mutate_case(sample[i], wanted);
  }
  if (mutants != NULL) print_message("%lld mutants\n", (long long)made);
  assert_true(mutants != NULL || made >= FEWEST);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(verify_refuses_mutants_of_the_corpus)};
  return cmocka_run_group_tests_name("plan_mutants", tests, NULL, NULL);
}
