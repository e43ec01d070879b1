/* check-plan against executions: printed plans are changed at random, and each is refused exactly when it leaves other
 * results than the plan that was printed, in program order or in some order that its edges allow, with any values of
 * run-time starts, or reads bytes that no command wrote (hlo/machine/oracle/byte_versions_testing.h).  What is refused
 * for a line by itself (syntax, names, sizes, bounds, alignment) needs no execution and is counted by itself.
 *
 *   plan_mutation_test [COUNT [SEED]]      so many mutants instead of the few of 'make test' */
#include <inttypes.h>
#include <stdio.h>

#include "base/file_io.h"
#include "base/fixture_testing.h"
#include "codegen/lower/module_kernels.h"
#include "codegen/oncore/emit/module_residency.h"
#include "codegen/oncore/language/plan_mutator_testing.h"
#include "codegen/oncore/language/written_plans.h"
#include "codegen/oncore/plan/plan_printer.h"
#include "codegen/oncore/plan/plan_stream.h"
#include "hlo/machine/description/presets.h"
#include "hlo/machine/oracle/byte_versions_testing.h"
#include "parser/hlo_parser.h"
#include "passes/pipeline/hlo_pass_pipeline.h"

static int64_t mutant_count = 600;
static uint64_t first_seed = 1;

/* --- what is changed --- */

/* An execution of a plan that is right: run-time starts have values of their own. */
typedef struct RightRun {
  const int64_t *scalars;
  uint64_t left;                  /* provenance of its results */
  const uint64_t *inputs, *names; /* of its commands */
  int64_t command_count;
} RightRun;

typedef struct Subject {
  const char *module_path;
  const HloModule *module;
  const KernelTable *kernels;
  const MachineDescription *machine;
  TilerOptions options;
  StringView text; /* one plan, as printed */
  const Plan *plan;
  int64_t run_count;
  const RightRun *runs;
} Subject;

typedef ARRAY(Subject) SubjectArray;

static const char *const module_paths[] = {
    "testdata/codegen/oncore/elementwise.hlo",
    "testdata/codegen/oncore/indices.hlo",
    "testdata/codegen/oncore/loops.hlo",
    "testdata/codegen/oncore/moves.hlo",
    "testdata/codegen/oncore/products.hlo",
    "testdata/codegen/oncore/reductions.hlo",
    "testdata/codegen/oncore/rows.hlo",
    "testdata/codegen/oncore/scatters.hlo",
    "testdata/codegen/oncore/sorts.hlo",
    "testdata/codegen/oncore/plans/Inputs/rows.hlo",
    "testdata/codegen/oncore/plans/Inputs/long_rows.hlo",
    "testdata/codegen/oncore/plans/Inputs/results.hlo",
    "testdata/codegen/oncore/plans/Inputs/starts.hlo",
    "testdata/cases/norm_layers/module.hlo",
    "testdata/cases/mlp_forward/module.hlo",
    "testdata/cases/conv2d_basic/module.hlo",
    "testdata/cases/gather_indexing/module.hlo",
    "testdata/cases/scatter_indexing/module.hlo",
    "testdata/cases/dynamic_slice_update/module.hlo",
    "testdata/cases/lstm_scan/module.hlo",
    "testdata/cases/mlp_train_sgd/module.hlo",
};
enum { MODULES = sizeof module_paths / sizeof *module_paths };

static const struct {
  const char *name;
  int32_t depth;
  bool is_unordered; /* even commands of one queue need edges */
} machines[] = {
    {"vp-tiny", 0, false}, {"vp-tiny", 3, false}, {"vp-tiny", 0, true}, {"vp-ref", 0, false}, {"vp-ref", 3, false}};
enum { MACHINES = sizeof machines / sizeof *machines };

enum { MOST_COMMANDS = 400, MOST_RUNS = 400 };
#define MOST_BYTES (INT64_C(1) << 20) /* read, by all commands of a plan */

static const HloModule *load_module(Fixture *fixture, const char *path, const BufferAssignment **out_assignment) {
  SourceFile *file = ARENA_NEW(fixture->arena, SourceFile);
  HloModule *module;
  bool changed;
  HloPipelineOptions options = {.pass_options = {.opt_level = 2}};
  file->name = sv_from_cstring(path);
  assert_int_equal(file_read(fixture->arena, path, &fixture->diag, &file->text), STATUS_OK);
  assert_int_equal(hlo_parse_module(fixture->arena, shape_table_create(fixture->arena), file, &fixture->diag, &module),
                   STATUS_OK);
  HloPassPipeline *pipeline = hlo_standard_pipeline(fixture->arena, &options.pass_options);
  assert_int_equal(hlo_pass_pipeline_run(pipeline, module, &options, &fixture->diag, &changed), STATUS_OK);
  *out_assignment = hlo_pass_pipeline_assignment(pipeline);
  assert_non_null(*out_assignment);
  return module;
}

static const MachineDescription *load_machine(Fixture *fixture, const char *name, bool is_unordered) {
  MachineDescription *machine = ARENA_NEW(fixture->arena, MachineDescription);
  const MachinePreset *preset = machine_preset_find(sv_from_cstring(name));
  assert_int_equal(machine_preset_parse(fixture->arena, preset, &fixture->diag, machine), STATUS_OK);
  MachineQueue *queues = ARENA_COPY_ARRAY(fixture->arena, MachineQueue, machine->queues, machine->queue_count);
  for (int32_t q = 0; q < machine->queue_count && is_unordered; q++) queues[q].complete = COMPLETE_UNORDERED;
  machine->queues = queues;
  return machine;
}

/* --- the oracle --- */

/* What the commands of a stream do, and which they are: so many runs of a label. */
typedef struct PlanWalk {
  Arena *arena;
  const Plan *plan;
  int64_t *iterations, *runs;
  const int64_t *scalars;
  uint64_t *names;
  ProvenanceCommand *commands;
  int64_t count;
} PlanWalk;

static int64_t at_walk(const PlanWalk *walk, IndexExpr expr) {
  return index_evaluate(&walk->plan->space, expr, walk->iterations, walk->scalars);
}

static uint64_t hash_range(const PlanWalk *walk, const PlanRange *range, uint64_t hash) {
  int64_t left = range->is_ragged ? at_walk(walk, range->left) : range->extent;
  hash = hash_combine(hash, (uint64_t)at_walk(walk, range->begin));
  return hash_combine(hash, (uint64_t)(left < range->extent ? left : range->extent));
}

/* Whether the bytes of a part of memory are in ascending order what a dense tile has in ascending order. */
static bool ascends(const PlanMemory *memory) {
  int64_t inner = 1;
  for (int32_t i = memory->rank - 1; i >= 0; i--) {
    if (memory->extents[i] == 1) continue;
    if (memory->strides[i] < inner) return false;
    inner = memory->strides[i] * memory->extents[i];
  }
  return true;
}

/* A plain load or store copies, if not in order then as extents and strides say; the same element may be loaded to
 * several places. */
static ProvenanceCommand transfer_of(const PlanWalk *walk, const PlanRef *part) {
  const PlanMemory *memory = &walk->plan->memories[part->number];
  if (ascends(memory)) return (ProvenanceCommand){true, 0};
  uint64_t hash = 2;
  for (int32_t i = 0; i < memory->rank; i++) {
    int64_t left = part->ranges[i].is_ragged ? at_walk(walk, part->ranges[i].left) : part->ranges[i].extent;
    hash = hash_combine(hash, (uint64_t)(left < part->ranges[i].extent ? left : part->ranges[i].extent));
    hash = hash_combine(hash, (uint64_t)memory->strides[i]);
  }
  return (ProvenanceCommand){false, hash};
}

/* Everything else is what it does in terms of the kernel, and for which points. */
static ProvenanceCommand function_of(const PlanWalk *walk, const PlanCommand *command) {
  if (command->verb == PLAN_LOAD && command->value < 0) return transfer_of(walk, &command->sources[0]);
  if (command->verb == PLAN_STORE) return transfer_of(walk, &command->targets[0]);
  const int64_t what[] = {command->value, command->first_stage, command->last_stage, command->keeps_accumulators,
                          command->index_value};
  uint64_t hash = 1;
  for (int i = 0; i < 5; i++) hash = hash_combine(hash, (uint64_t)what[i]);
  for (int32_t d = 0; command->points != NULL && d < walk->plan->kernel->dim_count; d++)
    hash = hash_range(walk, &command->points[d], hash);
  return (ProvenanceCommand){false, hash};
}

static void walk_block(PlanWalk *walk, const PlanBlock *block) {
  for (int32_t i = 0; i < block->node_count; i++) {
    int32_t number = block->nodes[i].number;
    if (block->nodes[i].kind == PLAN_NODE_COMMAND) {
      const PlanCommand *command = &walk->plan->commands[number];
      uint64_t label = hash_bytes(command->label.data, command->label.size);
      walk->names[walk->count] = hash_combine(label, (uint64_t)walk->runs[number]++);
      walk->commands[walk->count++] = function_of(walk, command);
      continue;
    }
    for (int64_t n = 0; n < walk->plan->loops[number].trip_count; n++) {
      walk->iterations[number] = n;
      walk_block(walk, &walk->plan->loops[number].body);
    }
    walk->iterations[number] = 0;
  }
}

static PlanWalk walk_plan(Arena *arena, const Plan *plan, const int64_t *scalars, const CommandStream *stream) {
  PlanWalk walk = {.arena = arena, .plan = plan, .scalars = scalars};
  walk.iterations = ARENA_NEW_ARRAY(arena, int64_t, plan->loop_count);
  walk.runs = ARENA_NEW_ARRAY(arena, int64_t, plan->command_count);
  walk.names = ARENA_NEW_ARRAY(arena, uint64_t, stream->commands.count);
  walk.commands = ARENA_NEW_ARRAY(arena, ProvenanceCommand, stream->commands.count);
  walk_block(&walk, &plan->block);
  assert_int_equal(walk.count, stream->commands.count);
  return walk;
}

typedef struct OracleVerdict {
  bool is_wrong;
  const char *reason;
  bool *is_concerned; /* by command of the plan: a mistake may be told there */
} OracleVerdict;

static void concern(OracleVerdict *verdict, const CommandStream *stream, int32_t instance, const char *reason) {
  if (instance >= 0) verdict->is_concerned[stream->commands.data[instance].label] = true;
  if (!verdict->is_wrong) verdict->reason = reason;
  verdict->is_wrong = true;
}

static int64_t find_name(const RightRun *right, uint64_t name) {
  for (int64_t i = 0; i < right->command_count; i++)
    if (right->names[i] == name) return i;
  return -1;
}

/* Against the plan that was printed. */
static void compare_provenance(Arena *arena, const RightRun *right, const Plan *plan, const CommandStream *stream,
                               OracleVerdict *verdict) {
  PlanWalk walk = walk_plan(arena, plan, right->scalars, stream);
  uint64_t *inputs = ARENA_NEW_ARRAY(arena, uint64_t, stream->commands.count);
  bool is_other = byte_versions_provenance(arena, stream, walk.commands, inputs) != right->left;
  for (int32_t i = 0; i < stream->commands.count && is_other; i++) {
    bool is_near = i < right->command_count && right->names[i] == walk.names[i];
    int64_t same = is_near ? i : find_name(right, walk.names[i]);
    if (same < 0 || right->inputs[same] != inputs[i]) concern(verdict, stream, i, "reads something else");
  }
  if (is_other) concern(verdict, stream, -1, "stores elsewhere");
}

/* Pairs that may come the wrong way round, and who sees it when they do. */
static void concern_pairs(Arena *arena, const ByteVersions *versions, OracleVerdict *verdict) {
  enum { EXECUTED = 16 };
  const CommandStream *stream = versions->stream;
  const VersionPair *pairs;
  int64_t count;
  VersionDifference difference;
  bool *readers = ARENA_NEW_ARRAY(arena, bool, stream->commands.count);
  byte_versions_find_pairs(versions, arena, arena, &pairs, &count);
  for (int64_t i = 0; i < count; i++) {
    readers[pairs[i].first] = readers[pairs[i].second] = true;
    for (int in_order = 0; in_order < 2 && i < EXECUTED; in_order++) {
      Execution execution = byte_versions_directed_execution(versions, arena, arena, pairs[i], in_order == 1);
      byte_versions_execute(versions, arena, execution, readers, &difference);
    }
  }
  for (int64_t i = 0; i < stream->commands.count; i++)
    if (readers[i]) verdict->is_concerned[stream->commands.data[i].label] = true;
}

static void ask_run(Arena *arena, const Subject *subject, const RightRun *right, const Plan *plan,
                    OracleVerdict *verdict) {
  CommandStream stream;
  DiagSink diag;
  ByteVersions versions;
  VersionDifference difference;
  diag_sink_init(&diag, arena);
  assert_int_equal(plan_stream_make_at(arena, plan, subject->machine, right->scalars, &diag, &stream), STATUS_OK);
  byte_versions_init(&versions, arena, &stream, subject->machine);
  if (byte_versions_uninitialised(&versions, &difference))
    concern(verdict, &stream, difference.reader, "reads bytes never written");
  compare_provenance(arena, right, plan, &stream, verdict);
  if (byte_versions_search(&versions, arena, &difference))
    concern(verdict, &stream, difference.reader, "gives something else in another order");
  concern_pairs(arena, &versions, verdict);
  for (uint64_t run = 0; run < 2 && !verdict->is_wrong; run++) {
    Execution execution = byte_versions_random_execution(&versions, arena, arena, run);
    assert_true(byte_versions_allow(&versions, arena, execution));
    assert_false(byte_versions_execute(&versions, arena, execution, NULL, &difference));
  }
}

/* All values of run-time starts. */
static OracleVerdict ask_oracle(Arena *arena, const Subject *subject, const Plan *plan) {
  OracleVerdict verdict = {.reason = "", .is_concerned = ARENA_NEW_ARRAY(arena, bool, plan->command_count)};
  for (int64_t r = 0; r < subject->run_count && !verdict.is_wrong; r++) {
    Arena *scratch = arena_create();
    ask_run(scratch, subject, &subject->runs[r], plan, &verdict);
    arena_destroy(scratch);
  }
  return verdict;
}

/* --- the checker --- */

/* What needs more than the line to be seen. */
static const char *const judged_codes[] = {"plan-race",        "plan-uninitialised", "plan-written-twice",
                                           "plan-not-written", "plan-meaning",       "plan-own-operands"};

static bool is_judged(const char *code) {
  for (size_t i = 0; i < sizeof judged_codes / sizeof *judged_codes; i++)
    if (strcmp(code, judged_codes[i]) == 0) return true;
  return false;
}

typedef struct CheckerVerdict {
  bool is_refused, is_plain; /* plain: for a line by itself */
  const Plan *plan;
  SourceFile file;
  DiagSink diag;
} CheckerVerdict;

static void ask_checker(Arena *arena, const Subject *subject, StringView text, CheckerVerdict *out_verdict) {
  WrittenPlans plans;
  *out_verdict = (CheckerVerdict){.file = {SV("mutant.vplan"), text}};
  diag_sink_init(&out_verdict->diag, arena);
  const PlannedModule planned = {subject->module, subject->kernels, subject->machine, &subject->options};
  Status status =
      written_plans_load(arena, &planned, &(FusedInstructions){0}, &out_verdict->file, &out_verdict->diag, &plans);
  out_verdict->is_refused = status != STATUS_OK;
  assert_int_equal(out_verdict->is_refused, out_verdict->diag.error_count > 0);
  for (const Diagnostic *told = out_verdict->diag.first; told != NULL; told = told->next) {
    bool is_error = told->severity == SEVERITY_ERROR;
    if (is_error) assert_true(told->loc.line > 0);
    if (is_error && !is_judged(told->code)) out_verdict->is_plain = true;
  }
  if (plans.count > 0) out_verdict->plan = plans.plans[0].plan;
  /* one with other residents stands nowhere in its module */
  bool is_elsewhere = out_verdict->plan != NULL && !plan_same_residents(subject->plan, out_verdict->plan);
  out_verdict->is_plain = out_verdict->is_plain || is_elsewhere;
  out_verdict->is_refused = out_verdict->is_refused || is_elsewhere;
}

/* --- subjects --- */

static bool is_small(Fixture *fixture, const Plan *plan, const MachineDescription *machine) {
  Arena *scratch = arena_create();
  CommandStream stream;
  int64_t bytes = 0;
  if (plan_instance_count(plan) <= MOST_COMMANDS) {
    assert_int_equal(plan_stream_make(scratch, plan, machine, &fixture->diag, &stream), STATUS_OK);
    for (int64_t k = 0; k < stream.accesses.count; k++) {
      ByteBox box = command_stream_box(&stream, stream_access_box(stream.accesses.data[k]));
      bytes += byte_box_run_count(&box) * box.bytes;
    }
  }
  arena_destroy(scratch);
  return bytes > 0 && bytes <= MOST_BYTES;
}

/* All combinations of values that run-time starts can take; NULL where they are more than MOST_RUNS. */
static int64_t *all_starts(Fixture *fixture, const Plan *plan, int64_t *out_count) {
  int64_t count = 1;
  for (int32_t s = 0; s < plan->scalar_count && count <= MOST_RUNS; s++)
    count *= plan->scalars[s].upper - plan->scalars[s].lower + 1;
  *out_count = count;
  if (count > MOST_RUNS) return NULL;
  int64_t *values = ARENA_NEW_ARRAY(fixture->arena, int64_t, count * plan->scalar_count);
  for (int64_t r = 0; r < count; r++) {
    int64_t rest = r;
    for (int32_t s = 0; s < plan->scalar_count; s++) {
      int64_t range = plan->scalars[s].upper - plan->scalars[s].lower + 1;
      values[r * plan->scalar_count + s] = plan->scalars[s].lower + rest % range;
      rest /= range;
    }
  }
  return values;
}

static RightRun right_run(Fixture *fixture, const Subject *subject, const Plan *plan, const int64_t *scalars) {
  CommandStream stream;
  assert_int_equal(plan_stream_make_at(fixture->arena, plan, subject->machine, scalars, &fixture->diag, &stream),
                   STATUS_OK);
  uint64_t *inputs = ARENA_NEW_ARRAY(fixture->arena, uint64_t, stream.commands.count);
  PlanWalk walk = walk_plan(fixture->arena, plan, scalars, &stream);
  uint64_t left = byte_versions_provenance(fixture->arena, &stream, walk.commands, inputs);
  return (RightRun){scalars, left, inputs, walk.names, stream.commands.count};
}

/* A printed plan is accepted, and right. */
static void add_subject(Fixture *fixture, Subject subject, const Plan *plan, SubjectArray *subjects) {
  StringBuilder text;
  sb_init(&text, fixture->arena);
  sb_printf(&text, "target %.*s\n", SV_ARG(subject.machine->name));
  plan_print(&text, plan, subject.machine);
  subject.text = sb_view(&text);
  subject.plan = plan;
  CheckerVerdict checked;
  ask_checker(fixture->arena, &subject, subject.text, &checked);
  assert_false(checked.is_refused);
  const int64_t *starts = all_starts(fixture, checked.plan, &subject.run_count);
  if (starts == NULL) return;
  RightRun *runs = ARENA_NEW_ARRAY(fixture->arena, RightRun, subject.run_count);
  for (int64_t r = 0; r < subject.run_count; r++)
    runs[r] = right_run(fixture, &subject, checked.plan, starts + r * checked.plan->scalar_count);
  subject.runs = runs;
  OracleVerdict verdict = ask_oracle(fixture->arena, &subject, checked.plan);
  if (verdict.is_wrong) fail_msg("%s: a printed plan %s:\n%s", subject.module_path, verdict.reason, text.data);
  array_push(subjects, fixture->arena, subject);
}

static void load_subjects(Fixture *fixture, SubjectArray *subjects) {
  for (int m = 0; m < MODULES; m++) {
    const BufferAssignment *assignment;
    const HloModule *module = load_module(fixture, module_paths[m], &assignment);
    KernelTable *kernels;
    assert_int_equal(module_kernels_build(fixture->arena, module, &(KernelTarget){0}, &fixture->diag, &kernels),
                     STATUS_OK);
    for (int t = 0; t < MACHINES; t++) {
      const MachineDescription *machine = load_machine(fixture, machines[t].name, machines[t].is_unordered);
      Subject subject = {.module_path = module_paths[m], .module = module, .kernels = kernels, .machine = machine};
      subject.options.pipeline_depth = machines[t].depth;
      ModulePlans plans;
      const PlannedModule planned = {module, kernels, machine, &subject.options};
      Status status = module_plans_make(fixture->arena, &planned, NULL, PLANS_PROVED, &fixture->diag, &plans);
      /* three slots may not fit; of producers without order the language cannot say all edges */
      if (status == STATUS_EXHAUSTED && machines[t].depth > 0) continue;
      if (status == STATUS_UNSUPPORTED && machines[t].is_unordered) continue;
      assert_int_equal(status, STATUS_OK);
      for (int32_t p = 0; p < plans.count; p++)
        if (is_small(fixture, plans.plans[p].plan, machine))
          add_subject(fixture, subject, plans.plans[p].plan, subjects);
      KeptPlans *kept = kept_plans_create(fixture->arena, machine, &subject.options);
      const PlacedModule placed = {module, assignment, kernels, machine};
      const ResidencyPolicy policy = {.brings_streams = true, .counts_again = true};
      assert_int_equal(module_plans_keep(kept, &placed, policy, &fixture->diag, &plans), STATUS_OK);
      kept_plans_destroy(kept);
      for (int32_t p = 0; p < plans.count; p++)
        if (plan_has_residents(plans.plans[p].plan) && !plans.plans[p].is_move &&
            is_small(fixture, plans.plans[p].plan, machine))
          add_subject(fixture, subject, plans.plans[p].plan, subjects);
    }
  }
}

/* --- mutants --- */

typedef struct Tally {
  int64_t plain, refused, accepted, mended; /* mended: of the refused ones, by the edges that were told */
} Tally;

static void show(const Subject *subject, StringView text, uint64_t seed, const CheckerVerdict *checked) {
  fprintf(stderr, "mutant %" PRIu64 " of %s on %.*s:\n%.*s", seed, subject->module_path, SV_ARG(subject->machine->name),
          SV_ARG(text));
  for (const Diagnostic *told = checked->diag.first; told != NULL; told = told->next)
    fprintf(stderr, "%u:%u: %s: %.*s\n", told->loc.line, told->loc.column, told->code, SV_ARG(told->message));
}

/* Whether it moves from or to an array whose declaration was changed. */
static bool moves_changed_array(const Mutant *mutant, const Plan *plan, const PlanCommand *command) {
  for (int32_t i = 0; i < command->target_count + command->source_count; i++) {
    bool is_target = i < command->target_count;
    const PlanRef *ref = is_target ? &command->targets[i] : &command->sources[i - command->target_count];
    if (ref->is_memory && mutant->lines.data[plan->memories[ref->number].loc.line - 1].is_changed) return true;
  }
  return false;
}

/* Whether it does, or uses a Tensor that such an array is loaded into: what is wrong in there shows only then. */
static bool uses_changed_array(const Mutant *mutant, const Plan *plan, const PlanCommand *command) {
  if (moves_changed_array(mutant, plan, command)) return true;
  for (int32_t c = 0; c < plan->command_count; c++) {
    const PlanCommand *load = &plan->commands[c];
    if (load->verb != PLAN_LOAD || !moves_changed_array(mutant, plan, load)) continue;
    for (int32_t i = 0; i < command->source_count; i++)
      if (!command->sources[i].is_memory && command->sources[i].number == load->targets[0].number) return true;
  }
  return false;
}

static int32_t command_at(const Plan *plan, SourceLoc loc) {
  for (int32_t c = 0; c < plan->command_count; c++)
    if (plan->commands[c].loc.line == loc.line) return c;
  return -1;
}

/* Whether runs of the two commands, closest ones first, give a difference when the second one does not wait. */
static bool pair_differs(Arena *arena, const ByteVersions *versions, int32_t first, int32_t second) {
  enum { MOST_PAIRS = 256 };
  const CommandStream *stream = versions->stream;
  int32_t tried = 0;
  for (int32_t distance = 1; distance < stream->commands.count && tried < MOST_PAIRS; distance++) {
    for (int32_t i = 0; i + distance < stream->commands.count && tried < MOST_PAIRS; i++) {
      VersionPair pair = {i, i + distance};
      if (stream->commands.data[pair.first].label != first || stream->commands.data[pair.second].label != second)
        continue;
      VersionDifference difference;
      Execution execution = byte_versions_directed_execution(versions, arena, arena, pair, false);
      tried++;
      if (byte_versions_allow(versions, arena, execution) &&
          byte_versions_execute(versions, arena, execution, NULL, &difference))
        return true;
    }
  }
  return false;
}

/* A race that follows from another one is none that the executions have to try, but it is there all the same: its
 * commands come the wrong way round in an execution that gives something else. */
static bool is_race_shown(const Subject *subject, const Plan *plan, const Diagnostic *told) {
  if (strcmp(told->code, "plan-race") != 0 || told->notes == NULL) return false;
  int32_t first = command_at(plan, told->notes->loc), second = command_at(plan, told->loc);
  bool is_shown = false;
  for (int64_t r = 0; r < subject->run_count && !is_shown && first >= 0 && second >= 0; r++) {
    Arena *scratch = arena_create();
    CommandStream stream;
    DiagSink diag;
    ByteVersions versions;
    diag_sink_init(&diag, scratch);
    assert_int_equal(plan_stream_make_at(scratch, plan, subject->machine, subject->runs[r].scalars, &diag, &stream),
                     STATUS_OK);
    byte_versions_init(&versions, scratch, &stream, subject->machine);
    is_shown = pair_differs(scratch, &versions, first, second);
    arena_destroy(scratch);
  }
  return is_shown;
}

/* Each error stands at a line that was changed, or at a command that the executions show to be concerned or that uses
 * an array declared in a line that was changed, or at the result that they show to be another, or is a race that one of
 * them shows. */
static bool is_well_placed(const Subject *subject, const Mutant *mutant, const CheckerVerdict *checked,
                           const OracleVerdict *oracle) {
  const Plan *plan = checked->plan;
  for (const Diagnostic *told = checked->diag.first; told != NULL; told = told->next) {
    if (told->severity != SEVERITY_ERROR) continue;
    bool is_there = mutant->lines.data[told->loc.line - 1].is_changed;
    for (int32_t c = 0; c < plan->command_count && !is_there; c++)
      is_there = (oracle->is_concerned[c] || uses_changed_array(mutant, plan, &plan->commands[c])) &&
                 plan->commands[c].loc.line == told->loc.line;
    for (int32_t m = 0; m < plan->memory_count && !is_there; m++)
      is_there = plan->memories[m].kind == PLAN_RESULT && plan->memories[m].loc.line == told->loc.line;
    if (!is_there && !is_race_shown(subject, plan, told)) return false;
  }
  return true;
}

/* --- what is told mends the plan --- */

/* The edge that the first race's note gives is pasted where it says; false where there is no such note. */
static bool paste_edge(Mutant *mutant, const Plan *plan, const DiagSink *diag) {
  for (const Diagnostic *told = diag->first; told != NULL; told = told->next) {
    if (strcmp(told->code, "plan-race") != 0 || told->notes == NULL) continue;
    StringView text = told->notes->message;
    const char *end = text.data + text.size, *with = strstr(text.data, "with '");
    assert_non_null(with);
    with += strlen("with '");
    size_t size = strcspn(with, "'");
    assert_true(with + size < end);
    const char *line = mutant->lines.data[told->loc.line - 1].text;
    mutant_replace(mutant, told->loc.line - 1, line + strlen(line), 0, arena_copy_string(mutant->arena, with, size));
    return plan != NULL;
  }
  return false;
}

/* Whether a plan with races alone is accepted after all edges that the notes give were pasted. */
static bool mends(Arena *arena, const Subject *subject, Mutant *mutant) {
  enum { MOST_EDGES = 32 };
  for (int i = 0; i < MOST_EDGES; i++) {
    CheckerVerdict checked;
    ask_checker(arena, subject, mutant_text(mutant), &checked);
    if (!checked.is_refused) return true;
    if (!paste_edge(mutant, checked.plan, &checked.diag)) return false;
  }
  return false;
}

static bool has_races_alone(const DiagSink *diag) {
  for (const Diagnostic *told = diag->first; told != NULL; told = told->next)
    if (told->severity == SEVERITY_ERROR && strcmp(told->code, "plan-race") != 0) return false;
  return true;
}

static void judge_mutant(Arena *arena, const Subject *subject, const Mutant *mutant, uint64_t seed, Tally *tally) {
  StringView text = mutant_text(mutant);
  CheckerVerdict checked;
  ask_checker(arena, subject, text, &checked);
  if (checked.is_plain) {
    tally->plain++;
    return;
  }
  OracleVerdict oracle = ask_oracle(arena, subject, checked.plan);
  if (oracle.is_wrong != checked.is_refused) {
    show(subject, text, seed, &checked);
    fail_msg("%s, and executions say: %s", checked.is_refused ? "refused" : "accepted",
             oracle.is_wrong ? oracle.reason : "nothing changes");
  }
  if (checked.is_refused && !is_well_placed(subject, mutant, &checked, &oracle)) {
    show(subject, text, seed, &checked);
    fail_msg("told at a line that has nothing to do with it");
  }
  if (checked.is_refused)
    tally->refused++;
  else
    tally->accepted++;
  /* of producers without order the language cannot say all edges */
  bool is_in_order = subject->machine->queues[0].complete == COMPLETE_IN_ORDER;
  if (!checked.is_refused || !has_races_alone(&checked.diag) || !is_in_order) return;
  Mutant mended = *mutant;
  if (!mends(arena, subject, &mended)) {
    show(subject, text, seed, &checked);
    fail_msg("the edges that are told do not mend it:\n%s", mutant_text(&mended).data);
  }
  tally->mended++;
}

/* For every second mutant one that suits the kind, if luck finds it. */
static const Subject *pick_subject(const SubjectArray *subjects, const MutationKind *kind, uint64_t seed) {
  enum { TRIES = 8 };
  const Subject *subject = NULL;
  uint64_t tries = seed % 2 == 0 ? TRIES : 1;
  for (uint64_t i = 0; i < tries && (subject == NULL || !sv_contains(subject->text, sv_from_cstring(kind->suits))); i++)
    subject = &subjects->data[hash_u64(seed * TRIES + i) % (uint64_t)subjects->count];
  return subject;
}

static void mutants_are_refused_when_they_compute_something_else(void **state) {
  Fixture *fixture = *state;
  SubjectArray subjects = {0};
  Tally tallies[MUTATION_KINDS] = {0}, all = {0};
  load_subjects(fixture, &subjects);
  assert_true(subjects.count > 50);
  int64_t made = 0;
  for (uint64_t seed = first_seed; made < mutant_count; seed++) {
    Arena *arena = arena_create();
    int kind = (int)(hash_u64(~seed) % MUTATION_KINDS);
    const Subject *subject = pick_subject(&subjects, &mutation_kinds[kind], seed);
    Mutant mutant = mutant_of(arena, subject->text, seed);
    bool is_made = mutation_kinds[kind].change(&mutant);
    /* some are changed twice, which may put right what was wrong */
    if (is_made && mutant_draw(&mutant, 4) == 0) mutation_kinds[mutant_draw(&mutant, MUTATION_KINDS)].change(&mutant);
    if (is_made) judge_mutant(arena, subject, &mutant, seed, &tallies[kind]);
    made += is_made;
    arena_destroy(arena);
  }
  printf("%-18s %8s %8s %8s %8s\n", "", "accepted", "refused", "mended", "as text");
  for (int k = 0; k < MUTATION_KINDS; k++) {
    const Tally *tally = &tallies[k];
    printf("%-18s %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 "\n", mutation_kinds[k].name, tally->accepted,
           tally->refused, tally->mended, tally->plain);
    all.plain += tally->plain;
    all.accepted += tally->accepted;
    assert_true(tally->refused * 20 > mutant_count / MUTATION_KINDS);
  }
  assert_true(tallies[0].mended * 2 > tallies[0].refused);
  assert_true(all.accepted * 20 > mutant_count && all.plain * 2 < mutant_count);
}

int main(int argc, char **argv) {
  if (argc > 1) mutant_count = strtoll(argv[1], NULL, 10);
  if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(mutants_are_refused_when_they_compute_something_else, create, destroy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
