#include "codegen/llvm/llvm_target_pool.h"

#include <llvm-c/Core.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "codegen/llvm/llvm_faults.h"

/* As many as threads may compile at once in most processes; each takes some 200 KB. */
enum { MOST_MACHINES = 16 };

typedef struct IdleMachine {
  char *key; /* of LLVM's allocator */
  LLVMTargetMachineRef machine;
} IdleMachine;

struct LlvmTargetPool {
  pthread_mutex_t mutex; /* of what follows */
  int count;
  IdleMachine idle[MOST_MACHINES]; /* in the order of their coming */
};

LlvmTargetPool *llvm_target_pool_create(void) {
  LlvmTargetPool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) out_of_memory(sizeof *pool);
  pthread_mutex_init(&pool->mutex, NULL);
  return pool;
}

static void dispose(IdleMachine idle) {
  LLVMDisposeTargetMachine(idle.machine);
  LLVMDisposeMessage(idle.key);
}

void llvm_target_pool_destroy(LlvmTargetPool *pool) {
  if (pool == NULL) return;
  for (int i = 0; i < pool->count; i++) dispose(pool->idle[i]);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}

static IdleMachine remove_at(LlvmTargetPool *pool, int number) {
  IdleMachine idle = pool->idle[number];
  pool->count--;
  memmove(&pool->idle[number], &pool->idle[number + 1], (size_t)(pool->count - number) * sizeof idle);
  return idle;
}

LLVMTargetMachineRef llvm_target_pool_take(LlvmTargetPool *pool, const char *key) {
  IdleMachine found = {0};
  pthread_mutex_lock(&pool->mutex);
  for (int i = pool->count - 1; i >= 0 && found.machine == NULL; i--) {
    if (strcmp(pool->idle[i].key, key) == 0) found = remove_at(pool, i);
  }
  pthread_mutex_unlock(&pool->mutex);
  if (found.machine != NULL) LLVMDisposeMessage(found.key);
  return found.machine;
}

void llvm_target_pool_give(LlvmTargetPool *pool, const char *key, LLVMTargetMachineRef machine) {
  IdleMachine given = {llvm_text(LLVMCreateMessage(key)), machine}, oldest = {0};
  pthread_mutex_lock(&pool->mutex);
  if (pool->count == MOST_MACHINES) oldest = remove_at(pool, 0);
  pool->idle[pool->count++] = given;
  pthread_mutex_unlock(&pool->mutex);
  if (oldest.machine != NULL) dispose(oldest);
}
