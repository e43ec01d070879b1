#include "base/array.h"
#include "base/hash_map.h"
#include "codegen/report/report_internal.h"

/* A BufferAssignment as a MemoryChart: the workspace with scratch and, one after the other, results, arguments and
 * constants, each a region; the end of the workspace that is in use all the time is one of its own. */

/* The last two only where something is prepared, or stays in a Buffer. */
enum {
  REGION_WORKSPACE,
  REGION_RESULTS,
  REGION_ARGUMENTS,
  REGION_CONSTANTS,
  REGION_PREPARED,
  REGION_RESIDENTS,
  REGION_COUNT
};

typedef struct ChartMaker {
  Arena *arena;
  const HloModule *module;
  const BufferAssignment *assignment;
  IntMap position_of; /* id of an instruction → its place in the schedule */
  int64_t *start_of;  /* where each allocation begins in its region */
  ARRAY(MemoryChartPart) parts[REGION_COUNT];
  ARRAY(MemoryChartBuffer) buffers;
} ChartMaker;

static int region_of(const BufferAllocation *allocation) {
  static const int regions[] = {[ALLOCATION_PARAMETER] = REGION_ARGUMENTS,
                                [ALLOCATION_RESULT] = REGION_RESULTS,
                                [ALLOCATION_PREPARED] = REGION_PREPARED,
                                [ALLOCATION_CONSTANT] = REGION_CONSTANTS,
                                [ALLOCATION_TEMP] = REGION_WORKSPACE};
  return regions[allocation->kind];
}

/* --- steps --- */

static MemoryChartStep step_of(const ChartMaker *maker, const HloInstruction *instruction) {
  MemoryChartStep step = {instruction->name, sv_from_cstring(hlo_opcode_text(instruction->opcode)), 0, NULL};
  if (instruction->opcode != HLO_FUSION) return step;
  const HloComputation *inside = hlo_instruction_called(instruction, 0);
  StringView *names = ARENA_NEW_ARRAY(maker->arena, StringView, inside->instructions.count);
  for (int64_t i = 0; i < inside->instructions.count; i++) {
    if (inside->instructions.data[i]->opcode != HLO_PARAMETER)
      names[step.inside_count++] = inside->instructions.data[i]->name;
  }
  step.inside = names;
  return step;
}

static const MemoryChartStep *steps_of(ChartMaker *maker) {
  const BufferAssignment *assignment = maker->assignment;
  MemoryChartStep *steps = ARENA_NEW_ARRAY(maker->arena, MemoryChartStep, assignment->schedule_length);
  for (int64_t i = 0; i < assignment->schedule_length; i++) {
    steps[i] = step_of(maker, assignment->schedule[i]);
    int_map_set(&maker->position_of, (uint64_t)assignment->schedule[i]->id, i);
  }
  return steps;
}

/* --- buffers --- */

static const MemoryChartSpan *spans_of(const ChartMaker *maker, const BufferLiveRange *ranges, int32_t count) {
  MemoryChartSpan *spans = ARENA_NEW_ARRAY(maker->arena, MemoryChartSpan, count);
  for (int32_t i = 0; i < count; i++) spans[i] = (MemoryChartSpan){ranges[i].from, ranges[i].to + 1};
  return spans;
}

static MemoryChartValue value_of(const ChartMaker *maker, const HloValue *value) {
  const HloInstruction *instruction = value->definition.instruction;
  int64_t *readers = ARENA_NEW_ARRAY(maker->arena, int64_t, value->use_count);
  int32_t reader_count = 0;
  for (int32_t i = 0; i < value->use_count; i++) {
    int64_t position;
    if (!int_map_find(&maker->position_of, (uint64_t)value->uses[i].user->id, &position)) continue;
    if (reader_count == 0 || readers[reader_count - 1] != position) readers[reader_count++] = position;
  }
  return (MemoryChartValue){.name = report_value_name_text(maker->arena, value),
                            .opcode = sv_from_cstring(hlo_opcode_text(instruction->opcode)),
                            .shape = shape_text(maker->arena, hlo_value_shape(value), true),
                            .source = hlo_module_source_line(maker->module, instruction, maker->arena),
                            .bytes = value->size,
                            .life_count = value->range_count,
                            .lives = spans_of(maker, value->ranges, value->range_count),
                            .reader_count = reader_count,
                            .readers = readers};
}

/* Whether |buffer| is what its allocation is for: the caller's argument or result. */
static bool is_at_home(const BufferAssignment *assignment, const HloModule *module, const HloBuffer *buffer) {
  for (int32_t i = 0; i < buffer->value_count; i++) {
    const HloValue *value = &assignment->values[buffer->values[i]];
    const HloInstruction *instruction = value->definition.instruction;
    if (value->live_out || (instruction->opcode == HLO_PARAMETER && instruction->parent == module->entry)) return true;
  }
  return false;
}

static const char *kind_of(const ChartMaker *maker, const HloBuffer *buffer, const BufferAllocation *allocation) {
  if (allocation->kind == ALLOCATION_TEMP) return "temporary";
  if (allocation->kind == ALLOCATION_CONSTANT) return "constant";
  if (allocation->kind == ALLOCATION_PREPARED) return "prepared";
  if (!is_at_home(maker->assignment, maker->module, buffer)) return "guest";
  return report_allocation_kind(allocation);
}

static void add_buffer(ChartMaker *maker, const HloBuffer *buffer) {
  const BufferAssignment *assignment = maker->assignment;
  const BufferAllocation *allocation = &assignment->allocations[buffer->allocation];
  if (buffer->size == 0) return;
  const BufferLiveRange *stretches;
  int32_t count = buffer_assignment_stretches(assignment, buffer, maker->arena, &stretches);
  MemoryChartValue *values = ARENA_NEW_ARRAY(maker->arena, MemoryChartValue, buffer->value_count);
  for (int32_t i = 0; i < buffer->value_count; i++) values[i] = value_of(maker, &assignment->values[buffer->values[i]]);
  array_push(&maker->buffers, maker->arena,
             ((MemoryChartBuffer){.name = values[0].name,
                                  .reason = sv_from_cstring(buffer->reason != NULL ? buffer->reason : ""),
                                  .kind = kind_of(maker, buffer, allocation),
                                  .region = region_of(allocation),
                                  .offset = maker->start_of[allocation->index] + buffer->offset,
                                  .size = buffer->size,
                                  .life_count = count,
                                  .lives = spans_of(maker, stretches, count),
                                  .value_count = buffer->value_count,
                                  .values = values}));
}

static void add_scratch(ChartMaker *maker, const BufferScratch *taken) {
  MemoryChartSpan *life = ARENA_NEW(maker->arena, MemoryChartSpan);
  MemoryChartValue *value = ARENA_NEW(maker->arena, MemoryChartValue);
  *life = (MemoryChartSpan){taken->position, taken->position + 1};
  *value = (MemoryChartValue){.name = sv_printf(maker->arena, "scratch of %.*s", SV_ARG(taken->instruction->name)),
                              .opcode = sv_from_cstring(hlo_opcode_text(taken->instruction->opcode)),
                              .source = hlo_module_source_line(maker->module, taken->instruction, maker->arena),
                              .bytes = taken->size,
                              .life_count = 1,
                              .lives = life};
  array_push(&maker->buffers, maker->arena,
             ((MemoryChartBuffer){.name = value->name,
                                  .reason = sv_printf(maker->arena, "what the code of '%.*s' needs while it runs",
                                                      SV_ARG(taken->instruction->name)),
                                  .kind = "scratch",
                                  .region = REGION_WORKSPACE,
                                  .offset = maker->start_of[taken->allocation] + taken->offset,
                                  .size = taken->size,
                                  .life_count = 1,
                                  .lives = life,
                                  .value_count = 1,
                                  .values = value}));
}

/* All of its region, from the first instruction to the last. */
static void add_residents(ChartMaker *maker) {
  MemoryChartSpan *life = ARENA_NEW(maker->arena, MemoryChartSpan);
  *life = (MemoryChartSpan){0, maker->assignment->schedule_length};
  array_push(&maker->buffers, maker->arena,
             ((MemoryChartBuffer){.name = SV("residents"),
                                  .reason = SV("stands for the Buffer, in which arrays stay between kernels"),
                                  .kind = "residents",
                                  .region = REGION_RESIDENTS,
                                  .size = maker->assignment->resident_bytes,
                                  .life_count = 1,
                                  .lives = life}));
}

/* --- regions --- */

static StringView part_name(const ChartMaker *maker, const BufferAllocation *allocation) {
  long long parameter = (long long)allocation->parameter, result = (long long)allocation->result;
  switch (allocation->kind) {
    case ALLOCATION_PARAMETER:
      return result < 0 ? sv_printf(maker->arena, "argument %lld", parameter)
                        : sv_printf(maker->arena, "argument %lld, result %lld", parameter, result);
    case ALLOCATION_RESULT: return sv_printf(maker->arena, "result %lld", result);
    case ALLOCATION_PREPARED: return sv_printf(maker->arena, "prepared %lld", (long long)allocation->prepared);
    case ALLOCATION_CONSTANT: return sv_printf(maker->arena, "constant %.*s", SV_ARG(allocation->constant->name));
    case ALLOCATION_TEMP: break;
  }
  return SV("workspace");
}

/* Allocations of the caller and of the object one after the other, those in the workspace where they are. */
static void place_allocations(ChartMaker *maker, int64_t sizes[REGION_COUNT]) {
  const BufferAssignment *assignment = maker->assignment;
  maker->start_of = ARENA_NEW_ARRAY(maker->arena, int64_t, assignment->allocation_count);
  for (int32_t i = 0; i < assignment->allocation_count; i++) {
    const BufferAllocation *allocation = &assignment->allocations[i];
    int region = region_of(allocation);
    if (region == REGION_WORKSPACE) {
      maker->start_of[i] = allocation->workspace_offset;
      continue;
    }
    maker->start_of[i] = sizes[region];
    sizes[region] += allocation->size;
    if (allocation->size > 0)
      array_push(&maker->parts[region], maker->arena,
                 ((MemoryChartPart){maker->start_of[i], part_name(maker, allocation)}));
  }
  sizes[REGION_WORKSPACE] = assignment->workspace_bytes - assignment->resident_bytes;
  sizes[REGION_RESIDENTS] = assignment->resident_bytes;
}

static StringView region_note(const ChartMaker *maker, int region) {
  const BufferAssignment *assignment = maker->assignment;
  StringBuilder text;
  sb_init(&text, maker->arena);
  if (region == REGION_WORKSPACE) {
    sb_append_cstring(&text, "temporaries and scratch");
    if (assignment->scratch_bytes_per_worker > 0) {
      sb_append_cstring(&text, "; ");
      report_human_bytes(&text, assignment->scratch_bytes_per_worker);
      sb_append_cstring(&text, " more per thread");
    }
    if (assignment->resident_bytes > 0) {
      sb_append_cstring(&text, "; ");
      report_human_bytes(&text, assignment->resident_bytes);
      sb_append_cstring(&text, " more of residents");
    }
    return sb_view(&text);
  }
  if (region == REGION_RESIDENTS) return SV("the Buffer between kernels: the workspace's end");
  sb_printf(&text, "%lld of them", (long long)maker->parts[region].count);
  if (region == REGION_RESULTS && assignment->aliased_bytes > 0) {
    sb_append_cstring(&text, "; ");
    report_human_bytes(&text, assignment->aliased_bytes);
    sb_append_cstring(&text, " more in arguments");
  }
  return sb_view(&text);
}

static const MemoryChartRegion *regions_of(ChartMaker *maker) {
  static const char *const names[] = {"workspace", "results", "arguments", "constants", "prepared", "residents"};
  int64_t sizes[REGION_COUNT] = {0};
  place_allocations(maker, sizes);
  MemoryChartRegion *regions = ARENA_NEW_ARRAY(maker->arena, MemoryChartRegion, REGION_COUNT);
  for (int region = 0; region < REGION_COUNT; region++) {
    regions[region] = (MemoryChartRegion){
        .name = names[region],
        .note = region_note(maker, region),
        .size = sizes[region],
        .lower_bound =
            region == REGION_WORKSPACE ? maker->assignment->lower_bound_bytes - maker->assignment->resident_bytes : -1,
        .part_count = (int32_t)maker->parts[region].count,
        .parts = maker->parts[region].data,
    };
  }
  return regions;
}

MemoryChart report_memory_chart(Arena *arena, const HloModule *module, const BufferAssignment *assignment) {
  ChartMaker maker = {.arena = arena, .module = module, .assignment = assignment};
  int_map_init(&maker.position_of, arena);
  const MemoryChartStep *steps = steps_of(&maker);
  const MemoryChartRegion *regions = regions_of(&maker);
  for (int32_t i = 0; i < assignment->buffer_count; i++) add_buffer(&maker, &assignment->buffers[i]);
  for (int32_t i = 0; i < assignment->scratch_count; i++) add_scratch(&maker, &assignment->scratches[i]);
  if (assignment->resident_bytes > 0) add_residents(&maker);
  int last = assignment->resident_bytes > 0   ? REGION_RESIDENTS
             : assignment->prepared_bytes > 0 ? REGION_PREPARED
                                              : REGION_CONSTANTS;
  return (MemoryChart){.unit = "position",
                       .length = assignment->schedule_length,
                       .regions = regions,
                       .region_count = last + 1,
                       .buffers = maker.buffers.data,
                       .buffer_count = (int32_t)maker.buffers.count,
                       .steps = steps};
}
