#include "compiler/options/compilation_setup.h"

#include <stdlib.h>

#include "base/checked_math.h"
#include "compiler/compilation_cache.h"
#include "compiler/options/build_kind.h"
#include "compiler/options/target.h"
#include "xlac/thread_pool.h"

/* The words of --schedule. */
enum { SCHEDULE_MEMORY, SCHEDULE_KEEP };

/* The words of --constants. */
enum { CONSTANTS_EMBED, CONSTANTS_FILE };

enum { DEFAULT_OPT_LEVEL = 2 };

/* Objects go to other machines, and the processor of a runner is not known; code in memory stays, but tests may ask
 * for what another machine would run. */
static StringView default_cpu(const Options *options) {
  if (options->command != COMMAND_RUN || options->values[OPTION_RUNNER].given) return SV("dispatch");
  const char *variant = getenv("XLAC_CPU");
  return variant ? llvm_native_variant(sv_from_cstring(variant)) : SV("native");
}

/* Of --threads: 0, which only a program may ask for, is refused like what is below it. */
static int64_t thread_count(const Options *options) {
  const OptionValue *value = &options->values[OPTION_THREADS];
  if (value->given) return value->integer == 0 ? -1 : value->integer;
  return min_i64(xlac_thread_pool_processor_count(), COMPILATION_MOST_THREADS);
}

static int64_t integer_of(const Options *options, OptionId id, int64_t fallback) {
  const OptionValue *value = &options->values[id];
  return value->given ? value->integer : fallback;
}

CompilationOptions compilation_setup(Arena *arena, const Options *options) {
  const OptionValue *values = options->values;
  bool has_own_processor = target_has_own_processor(options);
  WordList disabled = option_words(arena, options, OPTION_DISABLE_PASSES);
  WordList fixed = option_words(arena, options, OPTION_PREPARE);
  return (CompilationOptions){
      .mcpu = has_own_processor           ? SV("")
              : values[OPTION_MCPU].given ? option_text(options, OPTION_MCPU)
                                          : default_cpu(options),
      .mattr = has_own_processor ? SV("") : option_text(options, OPTION_MATTR),
      .fast_math = values[OPTION_FAST_MATH].given,
      .excess_precision = values[OPTION_EXCESS_PRECISION].given,
      .flush_denormals = values[OPTION_FLUSH_DENORMALS].given,
      .opt_level = (int)integer_of(options, OPTION_OPT_LEVEL, DEFAULT_OPT_LEVEL),
      .has_pass_names = values[OPTION_PASSES].given,
      .pass_names = option_text(options, OPTION_PASSES),
      .disabled_count = (int)disabled.count,
      .disabled = disabled.data,
      .fixed_count = (int)fixed.count,
      .fixed = fixed.data,
      .has_pass_limit = values[OPTION_PASS_LIMIT].given,
      .pass_limit = integer_of(options, OPTION_PASS_LIMIT, 0),
      .verifies_each = BUILD_IS_CHECKED || values[OPTION_VERIFY_EACH].given,
      .partitions = integer_of(options, OPTION_PARTITIONS, 0),
      .keeps_text_order = integer_of(options, OPTION_SCHEDULE, SCHEDULE_MEMORY) == SCHEDULE_KEEP,
      .callbacks = (HloCallbacks)integer_of(options, OPTION_CALLBACKS, HLO_CALLBACKS_REFUSE),
      .memory_limit = integer_of(options, OPTION_MEMORY_LIMIT, 0),
      .minimizes_memory = values[OPTION_MINIMIZE_MEMORY].given,
      .effort = (int)integer_of(options, OPTION_EFFORT, HLO_DEFAULT_EFFORT - 1) + 1,
      .has_scratch_limit = values[OPTION_SCRATCH_LIMIT].given,
      .scratch_limit = integer_of(options, OPTION_SCRATCH_LIMIT, 0),
      .pipeline_depth = (int32_t)integer_of(options, OPTION_PIPELINE_DEPTH, values[OPTION_PLAN_TEMPLATE].given ? 1 : 0),
      .is_strict_oncore = values[OPTION_STRICT_ONCORE].given,
      .has_no_residency = values[OPTION_NO_RESIDENCY].given,
      .scheme = (int)integer_of(options, OPTION_SCHEME, -1) + 1,
      .plans_detail = values[OPTION_REPORT].given                                     ? PLANS_ADVISED
                      : values[OPTION_DUMP_PLAN].given || values[OPTION_BUDGET].given ? PLANS_PROVED
                                                                                      : PLANS_ALONE,
      .has_entry_name = values[OPTION_ENTRY_NAME].given,
      .entry_name = option_text(options, OPTION_ENTRY_NAME),
      .constants_apart = integer_of(options, OPTION_CONSTANTS, CONSTANTS_EMBED) == CONSTANTS_FILE,
      .poison = values[OPTION_POISON].given,
      .profile = values[OPTION_PROFILE].given,
      .threads = thread_count(options),
      .records_decisions = values[OPTION_REPORT].given || values[OPTION_WHY_LIVE].given ||
                           values[OPTION_EXPLAIN_SHARING].given || values[OPTION_PLAN_TEMPLATE].given};
}

Status compilation_setup_check(Arena *arena, const Options *options, DiagSink *diag) {
  Status status = STATUS_OK;
  HloPassPipeline *ignored;
  if (options->values[OPTION_PASSES].given) {
    StringView names = sv_from_cstring(options->values[OPTION_PASSES].text);
    status = hlo_pipeline_from_names(arena, names, diag, &ignored);
  }
  static const OptionId lists[] = {OPTION_DISABLE_PASSES, OPTION_DUMP_HLO_BEFORE, OPTION_DUMP_HLO_AFTER};
  for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
    WordList words = option_words(arena, options, lists[l]);
    for (int64_t i = 0; i < words.count; i++) {
      bool all = lists[l] != OPTION_DISABLE_PASSES && sv_equal_cstring(words.data[i], "all");
      if (!all && hlo_pipeline_from_names(arena, words.data[i], diag, &ignored) != STATUS_OK) status = STATUS_INVALID;
    }
  }
  return status;
}

bool options_ask_for_compilation(const Options *options) {
  static const OptionId asking[] = {
      OPTION_DUMP_HLO_BEFORE, OPTION_DUMP_HLO_AFTER, OPTION_DUMP_LIVENESS, OPTION_DUMP_BUFFER_ASSIGNMENT,
      OPTION_DUMP_PLAN,       OPTION_DUMP_GRAPH,     OPTION_WHY_LIVE,      OPTION_EXPLAIN_SHARING,
      OPTION_REPORT,          OPTION_TRACE,          OPTION_STATS,         OPTION_TIME_REPORT,
      OPTION_BUDGET,          OPTION_PASS_LIMIT,     OPTION_VERIFY_EACH,   OPTION_PLAN,
      OPTION_RUNNER,          OPTION_PROFILE};
  for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++)
    if (options->values[asking[i]].given) return true;
  return false;
}

int64_t options_cache_limit(const Options *options) {
  return integer_of(options, OPTION_CACHE_LIMIT, COMPILATION_CACHE_LIMIT);
}
