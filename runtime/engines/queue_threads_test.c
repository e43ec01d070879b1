#include "runtime/engines/queue_threads.h"

#include "runtime/engines/queue_engines_testing.h"

static void threads_run_kernels_one_after_the_other(void **state) {
  (void)state;
  Arena *arena = arena_create();
  QueueThreads *threads = queue_threads_create(arena, NULL);
  HandKernel *hand = ARENA_NEW(arena, HandKernel);
  for (int round = 0; round < 20; round++) {
    hand_prepare(hand);
    assert_int_equal(queue_threads_launch(threads, &hand->kernel, &hand->context), 0);
    hand_check(hand);
  }
  queue_threads_destroy(threads);
  arena_destroy(arena);
}

static void threads_refuse_more_queues_than_they_have(void **state) {
  (void)state;
  Arena *arena = arena_create();
  QueueThreads *threads = queue_threads_create(arena, NULL);
  XlacOncoreKernel kernel = hand_kernel();
  kernel.queue_count = QUEUE_THREADS_MOST + 1;
  assert_int_equal(queue_threads_launch(threads, &kernel, NULL), QUEUE_THREADS_TOO_FEW);
  queue_threads_destroy(threads);
  arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_run_kernels_one_after_the_other),
      cmocka_unit_test(threads_refuse_more_queues_than_they_have),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
