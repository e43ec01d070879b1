/* The section of a compilation's report on its collectives: what each device sends (hlo/analysis/collective_traffic.h),
 * those that send the most first. */
#ifndef XLAC_COMPILER_COLLECTIVE_REPORT_H
#define XLAC_COMPILER_COLLECTIVE_REPORT_H

#include "base/json_writer.h"
#include "compiler/compilation.h"

/* Whether the module is for several devices. */
bool collective_report_is_there(const Compilation *compilation);
void collective_report_text(StringBuilder *out, const Compilation *compilation);
void collective_report_json(JsonWriter *json, const Compilation *compilation);

/* Where an instruction is from in the user's program: op_name and line of its metadata, what there is; in |arena|. */
StringView collective_report_origin(const HloInstruction *instruction, Arena *arena);

#endif
