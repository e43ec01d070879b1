#include "runtime/remote/program_blocks.h"

#include <stdio.h>

static void add(FileBlocks *blocks, void *data, int64_t bytes) {
  blocks->data[blocks->count++] = (FileBlock){data, bytes};
}

static void add_tensors(FileBlocks *blocks, const XlacTensor *tensors, void *const *storage, int64_t count) {
  for (int64_t i = 0; i < count; i++) add(blocks, storage[i], tensors[i].bytes);
}

FileBlocks program_argument_blocks(Arena *arena, const ModuleRun *run) {
  int64_t count = run->descriptor->parameter_count;
  FileBlocks blocks = {ARENA_NEW_ARRAY(arena, FileBlock, count + 1), 0};
  add_tensors(&blocks, run->descriptor->parameters, run->arguments, count);
  return blocks;
}

FileBlocks program_result_blocks(Arena *arena, const ModuleRun *run, ProgramOutcome *outcome) {
  int64_t count = run->descriptor->result_count;
  FileBlocks blocks = {ARENA_NEW_ARRAY(arena, FileBlock, count + 3), 0};
  add(&blocks, &outcome->failure, sizeof outcome->failure);
  add_tensors(&blocks, run->descriptor->results, run->results, count);
  add(&blocks, outcome->seconds, outcome->run_count * (int64_t)sizeof *outcome->seconds);
  add(&blocks, &outcome->workspace_bytes, sizeof outcome->workspace_bytes);
  return blocks;
}

void program_failure_keep(void *data, const XlacFailure *failure) {
  ProgramFailure *kept = data;
  snprintf(kept->instruction, sizeof kept->instruction, "%s", failure->instruction);
  snprintf(kept->callee, sizeof kept->callee, "%s", failure->callee);
  snprintf(kept->message, sizeof kept->message, "%s", failure->message);
}

bool program_failure_is_set(const ProgramFailure *failure) {
  return failure->callee[0] != '\0';
}
