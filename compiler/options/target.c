#include "compiler/options/target.h"

#include <string.h>

#include "base/file_io.h"
#include "base/nearest_word.h"
#include "codegen/llvm/llvm_options.h"
#include "hlo/machine/description/presets.h"

#define HOST "host"
#define HOST_SUMMARY "this machine (default)"

static StringView target_name(const Options *options) {
  const OptionValue *value = &options->values[OPTION_TARGET];
  return value->given ? sv_from_cstring(value->text) : SV(HOST);
}

static bool is_host(StringView name) {
  return sv_equal_cstring(name, HOST);
}

static bool is_file(StringView name) {
  return sv_ends_with(name, SV(".vpt")) || sv_contains(name, SV("/"));
}

static Status unknown_target(StringView name, DiagSink *diag) {
  NearestWord nearest = nearest_word_begin(name);
  nearest_word_offer(&nearest, SV(HOST));
  for (int i = 0; i < machine_preset_count(); i++)
    nearest_word_offer(&nearest, sv_from_cstring(machine_preset_at(i)->name));
  Status status =
      diag_error(diag, STATUS_INVALID, NO_LOC, "usage",
                 "there is no target '%.*s'; '--print-targets' lists them, a file's name ends in '.vpt'", SV_ARG(name));
  nearest_word_note(&nearest, diag);
  return status;
}

/* --- --mtriple --- */

bool target_has_own_processor(const Options *options) {
  return llvm_triple_kind(option_text(options, OPTION_MTRIPLE)) == LLVM_TRIPLE_OTHER;
}

static Status check_triple(const Options *options, DiagSink *diag) {
  StringView triple = option_text(options, OPTION_MTRIPLE);
  if (!options->values[OPTION_MTRIPLE].given) return STATUS_OK;
  if (!is_host(target_name(options)))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage",
                      "'--mtriple' is for the host: the description of '%.*s' has its own 'triple'",
                      SV_ARG(target_name(options)));
  if (llvm_triple_kind(triple) != LLVM_TRIPLE_UNKNOWN) return STATUS_OK;
  Status status =
      diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "'--mtriple': there is no code for '%.*s'", SV_ARG(triple));
  diag_note(diag, NO_LOC, "there is code for 'x86_64-…-linux-…' and 'riscv64-…'");
  return status;
}

/* A machine without a Buffer: a processor of another kind than this one's. */
static Status load_triple(Arena *arena, const Options *options, DiagSink *diag, MachineDescription *out_machine) {
  *out_machine = (MachineDescription){.name = option_text(options, OPTION_MTRIPLE)};
  return llvm_triple_isa(out_machine->name, option_text(options, OPTION_MCPU), option_text(options, OPTION_MATTR),
                         arena, diag, &out_machine->isa);
}

/* --- --target --- */

Status target_check(Arena *arena, const Options *options, DiagSink *diag) {
  static const OptionId of_vector_processors[] = {OPTION_BUFFER_SIZE,   OPTION_PIPELINE_DEPTH, OPTION_SCHEME,
                                                  OPTION_PLAN,          OPTION_DUMP_PLAN,      OPTION_PLAN_TEMPLATE,
                                                  OPTION_STRICT_ONCORE, OPTION_NO_RESIDENCY};
  StringView name = target_name(options);
  if (!is_host(name) && !is_file(name) && !machine_preset_find(name)) return unknown_target(name, diag);
  for (size_t i = 0; is_host(name) && i < sizeof of_vector_processors / sizeof of_vector_processors[0]; i++)
    if (options->values[of_vector_processors[i]].given)
      return diag_error(diag, STATUS_INVALID, NO_LOC, "usage",
                        "'%s' is for vector processors, and '--target' is 'host'",
                        option_spelling(arena, of_vector_processors[i]));
  return check_triple(options, diag);
}

bool target_is_host(const Options *options) {
  return is_host(target_name(options));
}

Status target_check_plans(const Options *options, DiagSink *diag) {
  if (!target_is_host(options)) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, NO_LOC, "target-host",
                    "plans are for vector processors: name one with --target");
}

const char *target_file(const Options *options) {
  StringView name = target_name(options);
  return is_file(name) ? name.data : NULL;
}

static Status parse_target(Arena *arena, StringView name, DiagSink *diag, MachineDescription *out_machine) {
  if (!is_file(name)) return machine_preset_parse(arena, machine_preset_find(name), diag, out_machine);
  SourceFile *source = ARENA_NEW(arena, SourceFile);
  source->name = sv_copy(arena, name);
  RETURN_IF_ERROR(file_read(arena, source->name.data, diag, &source->text));
  return machine_description_parse(arena, source, diag, out_machine);
}

/* What the description says of the processor, options cannot say as well. */
static Status check_isa(const Options *options, const MachineDescription *machine, DiagSink *diag) {
  bool is_given = options->values[OPTION_MCPU].given || options->values[OPTION_MATTR].given;
  if (machine_is_host(machine) || !is_given) return STATUS_OK;
  return diag_error(diag, STATUS_INVALID, machine->isa.loc, "machine-isa",
                    "'%.*s' has its own 'cpu' and 'features': '--mcpu' and '--mattr' are for the host",
                    SV_ARG(machine->name));
}

Status target_load(Arena *arena, const Options *options, DiagSink *diag, const MachineDescription **out_machine) {
  *out_machine = NULL;
  StringView name = target_name(options);
  if (is_host(name) && !target_has_own_processor(options)) return STATUS_OK;
  MachineDescription *machine = ARENA_NEW(arena, MachineDescription);
  *out_machine = machine;
  if (is_host(name)) return load_triple(arena, options, diag, machine);
  RETURN_IF_ERROR(parse_target(arena, name, diag, machine));
  RETURN_IF_ERROR(check_isa(options, machine, diag));
  const OptionValue *size = &options->values[OPTION_BUFFER_SIZE];
  if (size->given) {
    machine->buffer.size = size->integer;
    machine->buffer.loc = NO_LOC;
    RETURN_IF_ERROR(machine_description_verify(machine, diag));
  }
  return STATUS_OK;
}

/* --- --print-targets --- */

static void print_row(StringBuilder *out, const MachineDescription *machine, const char *summary) {
  size_t start = out->size;
  sb_printf(out, "%-8.*s %6lld KiB %5lld  ", SV_ARG(machine->name), (long long)(machine->buffer.size / 1024),
            (long long)machine->vector_bytes);
  for (int i = 0; i < machine->queue_count; i++)
    sb_printf(out, "%s%.*s", i > 0 ? " " : "", SV_ARG(machine->queues[i].name));
  enum { SUMMARY_COLUMN = 38 };
  sb_append_repeated(out, ' ', SUMMARY_COLUMN - (int64_t)(out->size - start));
  sb_printf(out, "%s\n", summary);
}

static Status print_table(Arena *arena, DiagSink *diag, StringBuilder *out) {
  sb_printf(out, "%-8s %10s %6s  %s\n", "name", "Buffer", "vector", "queues");
  sb_printf(out, "%-38s%s\n", HOST, HOST_SUMMARY);
  for (int i = 0; i < machine_preset_count(); i++) {
    const MachinePreset *preset = machine_preset_at(i);
    MachineDescription machine;
    RETURN_IF_ERROR(machine_preset_parse(arena, preset, diag, &machine));
    print_row(out, &machine, preset->summary);
  }
  return STATUS_OK;
}

Status target_print(Arena *arena, const Options *options, DiagSink *diag, StringBuilder *out) {
  if (!options->values[OPTION_TARGET].given) return print_table(arena, diag, out);
  const MachineDescription *machine;
  RETURN_IF_ERROR(target_load(arena, options, diag, &machine));
  if (machine)
    machine_description_print(out, machine);
  else
    sb_printf(out, "%s %s\n", HOST, HOST_SUMMARY);
  return STATUS_OK;
}
