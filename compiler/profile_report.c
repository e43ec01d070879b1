#include "compiler/profile_report.h"

#include <stdlib.h>

#include "base/json_writer.h"
#include "hlo/analysis/call_graph.h"

typedef struct ProfiledInstruction {
  const HloInstruction *instruction;
  double seconds; /* without what it calls */
} ProfiledInstruction;

typedef struct Profile {
  JsonWriter json;
  const Compilation *compilation;
  const InstructionProfile *counts; /* by instruction id */
  double seconds_per_cycle;
  ARRAY(ProfiledInstruction) list;
} Profile;

static const HloModule *module_of(const Profile *profile) {
  return profile->compilation->module;
}

static double own_seconds(const Profile *profile, const HloInstruction *instruction) {
  return (double)profile->counts[instruction->id].cycles * profile->seconds_per_cycle;
}

/* Where it ran; all computations that the entry reaches by control flow, each once. */
static void gather(Profile *profile, const HloComputation *computation, uint64_t *cycles) {
  for (int64_t i = 0; i < computation->instructions.count; i++) {
    const HloInstruction *instruction = computation->instructions.data[i];
    for (int k = 0; k < call_graph_callee_count(instruction); k++)
      gather(profile, call_graph_callee(instruction, k), cycles);
    if (profile->counts[instruction->id].runs == 0) continue;
    *cycles += profile->counts[instruction->id].cycles;
    array_push(&profile->list, profile->compilation->arena, ((ProfiledInstruction){instruction, 0}));
  }
}

static int by_seconds(const void *left, const void *right) {
  const ProfiledInstruction *a = left, *b = right;
  if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
  return (a->instruction->id > b->instruction->id) - (a->instruction->id < b->instruction->id);
}

static void write_fields(Profile *profile, const HloInstruction *instruction) {
  JsonWriter *json = &profile->json;
  StringView source = hlo_module_source_line(module_of(profile), instruction, profile->compilation->arena);
  json_field_string(json, "opcode", sv_from_cstring(hlo_opcode_text(instruction->opcode)));
  json_field_string(json, "shape", shape_text(profile->compilation->arena, instruction->shape, true));
  json_field_int(json, "runs", (int64_t)profile->counts[instruction->id].runs);
  if (source.size > 0) json_field_string(json, "source", source);
}

/* A stretch from |begin| on, in which lie those of what it calls; its end. */
static double write_event(Profile *profile, const HloInstruction *instruction, double begin) {
  double end = begin;
  for (int k = 0; k < call_graph_callee_count(instruction); k++) {
    const HloComputation *callee = call_graph_callee(instruction, k);
    for (int64_t i = 0; i < callee->instructions.count; i++)
      end = write_event(profile, callee->instructions.data[i], end);
  }
  if (profile->counts[instruction->id].runs == 0) return end;
  end += own_seconds(profile, instruction);
  JsonWriter *json = &profile->json;
  json_begin_object(json);
  json_field_string(json, "ph", SV("X"));
  json_field_string(json, "name", instruction->name);
  json_field_int(json, "pid", 0);
  json_field_int(json, "tid", 0);
  json_field_double(json, "ts", 1e6 * begin);
  json_field_double(json, "dur", 1e6 * (end - begin));
  json_key(json, "args");
  json_begin_object(json);
  write_fields(profile, instruction);
  json_end_object(json);
  json_end_object(json);
  return end;
}

static void write_list(Profile *profile, double seconds) {
  JsonWriter *json = &profile->json;
  if (profile->list.count > 1)
    qsort(profile->list.data, (size_t)profile->list.count, sizeof profile->list.data[0], by_seconds);
  for (int64_t i = 0; i < profile->list.count; i++) {
    const ProfiledInstruction *row = &profile->list.data[i];
    json_begin_object(json);
    json_field_string(json, "name", row->instruction->name);
    json_field_string(json, "computation", row->instruction->parent->name);
    json_field_double(json, "seconds", row->seconds);
    json_field_double(json, "share", seconds > 0 ? row->seconds / seconds : 0);
    write_fields(profile, row->instruction);
    json_end_object(json);
  }
}

Status profile_report(const Compilation *compilation, const CodegenJit *jit, double seconds, StringBuilder *out) {
  Profile profile = {.compilation = compilation};
  uint64_t cycles = 0;
  RETURN_IF_ERROR(codegen_jit_profile(jit, compilation->diag, &profile.counts));
  const HloComputation *entry = compilation->module->entry;
  gather(&profile, entry, &cycles);
  profile.seconds_per_cycle = cycles > 0 ? seconds / (double)cycles : 0;
  for (int64_t i = 0; i < profile.list.count; i++)
    profile.list.data[i].seconds = own_seconds(&profile, profile.list.data[i].instruction);
  json_init(&profile.json, out, false);
  json_begin_object(&profile.json);
  json_field_double(&profile.json, "seconds", seconds);
  json_key(&profile.json, "instructions");
  json_begin_array(&profile.json);
  write_list(&profile, seconds);
  json_end_array(&profile.json);
  json_key(&profile.json, "traceEvents");
  json_begin_array(&profile.json);
  double end = 0;
  for (int64_t i = 0; i < entry->instructions.count; i++) end = write_event(&profile, entry->instructions.data[i], end);
  json_end_array(&profile.json);
  json_end_object(&profile.json);
  sb_append_char(out, '\n');
  return STATUS_OK;
}
