/* Commands that write what they also read, or write twice.  Pairs of boxes are looked at once each: a loop repeats
 * them.
 */
#include "base/checked_math.h"
#include "base/hash_map.h"
#include "hlo/machine/stream/byte_classes_internal.h"
#include "hlo/machine/stream/hazards.h"

typedef struct SharedRange {
  int64_t start, end; /* empty: nothing is shared */
} SharedRange;

typedef struct OperandCheck {
  Arena *arena, *scratch;
  const CommandStream *stream;
  HazardLimits limits;
  HazardReport *report;
  ARRAY(Hazard) hazards;
  ARRAY(SharedRange) ranges;
  IntMap range_of_pair;
} OperandCheck;

static SharedRange share(const OperandCheck *check, int32_t a, int32_t b) {
  ByteBox left = command_stream_box(check->stream, a), right = command_stream_box(check->stream, b);
  SharedRange range = {max_i64(left.base, right.base), min_i64(byte_box_end(&left), byte_box_end(&right))};
  bool is_dense = left.level_count == 0 && right.level_count == 0;
  if (check->stream->boxes.data[a].object != check->stream->boxes.data[b].object) return (SharedRange){0, 0};
  if (range.start >= range.end || is_dense) return range;
  return byte_boxes_meet(check->scratch, &left, &right, &range.start, &range.end) ? range : (SharedRange){0, 0};
}

static SharedRange shared_range(OperandCheck *check, int32_t a, int32_t b) {
  uint64_t key = (uint64_t)a << 32 | (uint32_t)b;
  int64_t place;
  if (!int_map_find(&check->range_of_pair, key, &place)) {
    place = check->ranges.count;
    array_push(&check->ranges, check->scratch, share(check, a, b));
    int_map_set(&check->range_of_pair, key, place);
  }
  return check->ranges.data[place];
}

/* One is enough for each command. */
static void check_command(OperandCheck *check, int32_t instance) {
  InstanceRange accesses = command_stream_accesses(check->stream, instance);
  for (int64_t w = 0; w < accesses.count; w++) {
    if (!stream_access_writes(accesses.data[w])) continue;
    for (int64_t k = 0; k < accesses.count; k++) {
      bool is_seen = stream_access_writes(accesses.data[k]) && k >= w;
      if (is_seen || stream_accesses_are_update(accesses.data[k], accesses.data[w])) continue;
      int32_t box = stream_access_box(accesses.data[w]);
      SharedRange range = shared_range(check, stream_access_box(accesses.data[k]), box);
      if (range.start >= range.end) continue;
      Hazard hazard = {HAZARD_OWN_OPERANDS, -1,       instance, check->stream->boxes.data[box].object,
                       range.start,         range.end};
      if (check->report->counts[HAZARD_OWN_OPERANDS]++ < check->limits.kept)
        array_push(&check->hazards, check->arena, hazard);
      return;
    }
  }
}

void hazards_check_operands(Arena *arena, Arena *scratch, const CommandStream *stream, HazardLimits limits,
                            HazardReport *report) {
  OperandCheck check = {.arena = arena, .scratch = scratch, .stream = stream, .limits = limits, .report = report};
  int_map_init(&check.range_of_pair, scratch);
  for (int64_t h = 0; h < report->hazard_count; h++) array_push(&check.hazards, arena, report->hazards[h]);
  for (int32_t i = 0; i < stream->commands.count; i++) check_command(&check, i);
  report->hazards = check.hazards.data;
  report->hazard_count = check.hazards.count;
}
