/* What a program that runs elsewhere (runtime/remote/target/main.c) and the process that waits for it
 * (remote_program.c) hand each other in block files: the same blocks seen from both sides. */
#ifndef XLAC_RUNTIME_REMOTE_PROGRAM_BLOCKS_H
#define XLAC_RUNTIME_REMOTE_PROGRAM_BLOCKS_H

#include "runtime/engines/runner.h"
#include "runtime/remote/block_file.h"

typedef struct FileBlocks {
  FileBlock *data;
  int64_t count;
} FileBlocks;

/* XlacFailure of a call, its texts cut where they do not fit; no callee: nothing failed. */
typedef struct ProgramFailure {
  char instruction[256], callee[256], message[1024];
} ProgramFailure;

/* What the program tells beside results, which are without meaning after a failure. */
typedef struct ProgramOutcome {
  ProgramFailure failure;
  int64_t workspace_bytes;
  int64_t run_count;
  double *seconds; /* of each run, in the module */
} ProgramOutcome;

/* The bytes of run->arguments. */
FileBlocks program_argument_blocks(Arena *arena, const ModuleRun *run);
/* The failure, the bytes of run->results, the seconds, the bytes of workspace used. */
FileBlocks program_result_blocks(Arena *arena, const ModuleRun *run, ProgramOutcome *outcome);

/* XlacRunOptions.on_failure with a ProgramFailure as |data|. */
void program_failure_keep(void *data, const XlacFailure *failure);
bool program_failure_is_set(const ProgramFailure *failure);

#endif
