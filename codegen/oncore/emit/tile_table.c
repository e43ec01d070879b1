#include "codegen/oncore/emit/tile_table.h"

#include "base/hash_map.h"

typedef struct TableMaker {
  Arena *arena, *scratch;
  const ModulePlans *plans;
  ARRAY(PlanTile) tiles;
  const int32_t *const **numbers; /* by plan */
  StringMap known[2];             /* those that compute, and transfers: text → number + 1 */
} TableMaker;

static int32_t tile_number(TableMaker *maker, const PlanTile *tile) {
  StringBuilder text;
  sb_init(&text, maker->scratch);
  kernel_print(&text, tile->kernel);
  StringMap *known = &maker->known[tile->is_transfer];
  int64_t number = (int64_t)(intptr_t)string_map_get(known, sb_view(&text));
  if (number > 0) return (int32_t)number - 1;
  array_push(&maker->tiles, maker->arena, *tile);
  string_map_set(known, sb_view(&text), (void *)(intptr_t)maker->tiles.count);
  return (int32_t)maker->tiles.count - 1;
}

static void add_plan(TableMaker *maker, int32_t number) {
  if (number < 0 || maker->numbers[number] != NULL) return;
  const Plan *plan = maker->plans->plans[number].plan;
  const PlanSpace *space = &maker->plans->spaces[number];
  const int32_t **commands = ARENA_NEW_ARRAY(maker->arena, const int32_t *, plan->command_count + 1);
  for (int32_t c = 0; c < plan->command_count; c++) {
    const CommandVariants *variants = &space->variants[c];
    int32_t *tiles = ARENA_NEW_ARRAY(maker->arena, int32_t, variants->count);
    for (int32_t v = 0; v < variants->count; v++) {
      PlanTile tile = {variants->variants[v].tile.kernel, &space->strategies[c][v * space->target_count],
                       command_is_transfer(&plan->commands[c])};
      tiles[v] = tile_number(maker, &tile);
    }
    commands[c] = tiles;
  }
  maker->numbers[number] = commands;
}

TileTable tile_table_make(Arena *arena, const ModulePlans *plans, const KernelTable *kernels) {
  TableMaker maker = {.arena = arena, .scratch = arena_create(), .plans = plans};
  maker.numbers = ARENA_NEW_ARRAY(arena, const int32_t *const *, plans->count + 1);
  for (int i = 0; i < 2; i++) string_map_init(&maker.known[i], maker.scratch);
  for (int64_t r = 0; r < kernels->rows.count; r++) {
    const KernelUses *row = &kernels->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) add_plan(&maker, module_plans_number(plans, &row->uses[i]));
  }
  for (int32_t m = 0; m < plans->move_count; m++) add_plan(&maker, plans->moves[m].plan);
  arena_destroy(maker.scratch);
  return (TileTable){(int32_t)maker.tiles.count, maker.tiles.data, maker.numbers};
}

const char *tile_table_name(Arena *arena, int32_t number) {
  return arena_printf(arena, "tile.%ld", (long)number);
}
