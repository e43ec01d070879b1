#include "passes/spmd/reshard_bundles.h"

/* Up to so many axes are looked at one by one. */
enum { MOST_SINGLE_AXES = 5 };

/* What follows an axis in the lists of one sharding. */
enum { ABSENT = -2, LAST = -1 };

typedef struct AxisNeighbours {
  int next[SPMD_MOST_AXES];
} AxisNeighbours;

static void note_list(AxisNeighbours *neighbours, AxisList list) {
  for (int i = 0; i < list.count; i++) neighbours->next[list.axes[i]] = i + 1 < list.count ? list.axes[i + 1] : LAST;
}

static AxisNeighbours no_neighbours(void) {
  AxisNeighbours result;
  for (int a = 0; a < SPMD_MOST_AXES; a++) result.next[a] = ABSENT;
  return result;
}

static AxisNeighbours neighbours_in(const AxisSharding *sharding) {
  AxisNeighbours result = no_neighbours();
  for (int d = 0; d < sharding->rank; d++) note_list(&result, sharding->dims[d]);
  return result;
}

/* Everywhere where one of them is, |b| comes right after |a|. */
static bool stay_together(const AxisNeighbours lists[3], int a, int b) {
  for (int i = 0; i < 3; i++) {
    bool are_absent = lists[i].next[a] == ABSENT && lists[i].next[b] == ABSENT;
    if (!are_absent && lists[i].next[a] != b) return false;
  }
  return true;
}

/* What stays together with |a| after it; -1: nothing. */
static int follower(const AxisNeighbours lists[3], int a) {
  for (int i = 0; i < 3; i++) {
    int next = lists[i].next[a];
    if (next >= 0) return stay_together(lists, a, next) ? next : -1;
  }
  return -1;
}

/* Bundles of one size are permuted axis by axis. */
static bool sizes_agree(const SpmdMesh *mesh, AxisList a, AxisList b) {
  if (axis_list_size(mesh, a) != axis_list_size(mesh, b)) return true;
  for (int i = 0; i < a.count && i < b.count; i++) {
    if (mesh->sizes[a.axes[i]] != mesh->sizes[b.axes[i]]) return false;
  }
  return a.count == b.count;
}

/* Each list consists of whole bundles. */
static AxisList in_bundles(Arena *arena, AxisList list, const int *bundle_of_first) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, list.count);
  int count = 0;
  for (int i = 0; i < list.count; i++) {
    if (bundle_of_first[list.axes[i]] >= 0) axes[count++] = (uint8_t)bundle_of_first[list.axes[i]];
  }
  return (AxisList){count, axes};
}

static AxisSharding sharding_in_bundles(Arena *arena, const AxisSharding *sharding, const int *bundle_of_first) {
  AxisList *dims = ARENA_NEW_ARRAY(arena, AxisList, sharding->rank);
  for (int d = 0; d < sharding->rank; d++) dims[d] = in_bundles(arena, sharding->dims[d], bundle_of_first);
  return (AxisSharding){.rank = sharding->rank, .dims = dims};
}

static AxisList bundle_from(Arena *arena, const AxisNeighbours lists[3], int first) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, SPMD_MOST_AXES);
  int count = 0;
  for (int a = first; a >= 0; a = follower(lists, a)) axes[count++] = (uint8_t)a;
  return (AxisList){count, axes};
}

/* The bundles, in the order of their first axes, and by axis which bundle it begins; -1: none. */
static int find_bundles(Arena *arena, const SpmdMesh *mesh, const AxisNeighbours lists[3], AxisMask involved,
                        AxisList *bundles, int *bundle_of_first) {
  bool follows[SPMD_MOST_AXES] = {false};
  int count = 0;
  for (int a = 0; a < mesh->axis_count; a++) {
    int next = involved >> a & 1 ? follower(lists, a) : -1;
    if (next >= 0) follows[next] = true;
  }
  for (int a = 0; a < mesh->axis_count; a++) {
    bool begins = (involved >> a & 1) && !follows[a];
    bundle_of_first[a] = begins ? count : -1;
    if (begins) bundles[count++] = bundle_from(arena, lists, a);
  }
  return count;
}

static bool all_sizes_agree(const SpmdMesh *mesh, const AxisList *bundles, int count) {
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < i; j++) {
      if (!sizes_agree(mesh, bundles[i], bundles[j])) return false;
    }
  }
  return true;
}

static int single_bundles(Arena *arena, const SpmdMesh *mesh, AxisList *bundles, int *bundle_of_first) {
  for (int a = 0; a < mesh->axis_count; a++) {
    uint8_t *axis = ARENA_NEW_ARRAY(arena, uint8_t, 1);
    *axis = (uint8_t)a;
    bundles[a] = (AxisList){1, axis};
    bundle_of_first[a] = a;
  }
  return mesh->axis_count;
}

ReshardBundles reshard_bundles_create(Arena *arena, const SpmdMesh *mesh, const AxisSharding *from, AxisMask partial,
                                      const AxisSharding *to) {
  AxisMask involved = axis_sharding_mask(from) | axis_sharding_mask(to) | partial;
  AxisNeighbours lists[3] = {neighbours_in(from), neighbours_in(to), no_neighbours()};
  note_list(&lists[2], axis_mask_list(arena, partial));
  AxisList *bundles = ARENA_NEW_ARRAY(arena, AxisList, mesh->axis_count);
  int bundle_of_first[SPMD_MOST_AXES];
  int count = find_bundles(arena, mesh, lists, involved, bundles, bundle_of_first);
  if (__builtin_popcountll(involved) <= MOST_SINGLE_AXES || !all_sizes_agree(mesh, bundles, count))
    count = single_bundles(arena, mesh, bundles, bundle_of_first);
  int64_t *sizes = ARENA_NEW_ARRAY(arena, int64_t, count);
  SpmdMesh *coarse = ARENA_NEW(arena, SpmdMesh);
  *coarse = (SpmdMesh){.device_count = mesh->device_count, .axis_count = count, .sizes = sizes};
  ReshardBundles result = {.mesh = coarse,
                           .from = sharding_in_bundles(arena, from, bundle_of_first),
                           .to = sharding_in_bundles(arena, to, bundle_of_first),
                           .whole_mesh = mesh,
                           .axes = bundles};
  for (int i = 0; i < count; i++) {
    sizes[i] = axis_list_size(mesh, bundles[i]);
    if (partial >> bundles[i].axes[0] & 1) result.partial |= (AxisMask)1 << i;
  }
  return result;
}

static AxisList expand_list(Arena *arena, const ReshardBundles *bundles, AxisList list) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, SPMD_MOST_AXES);
  int count = 0;
  for (int i = 0; i < list.count; i++) {
    AxisList bundle = bundles->axes[list.axes[i]];
    for (int k = 0; k < bundle.count; k++) axes[count++] = bundle.axes[k];
  }
  return (AxisList){count, axes};
}

/* Axes in no bundle stay where they are. */
static AxisList expand_map(Arena *arena, const ReshardBundles *bundles, AxisList map) {
  uint8_t *axes = ARENA_NEW_ARRAY(arena, uint8_t, bundles->whole_mesh->axis_count);
  for (int a = 0; a < bundles->whole_mesh->axis_count; a++) axes[a] = (uint8_t)a;
  for (int i = 0; i < map.count; i++) {
    AxisList source = bundles->axes[i], target = bundles->axes[map.axes[i]];
    for (int k = 0; k < source.count; k++) axes[source.axes[k]] = target.axes[k];
  }
  return (AxisList){bundles->whole_mesh->axis_count, axes};
}

ReshardPlan reshard_bundles_expand(Arena *arena, const ReshardBundles *bundles, const ReshardPlan *plan) {
  ReshardStep *steps = ARENA_NEW_ARRAY(arena, ReshardStep, plan->count + 1);
  for (int i = 0; i < plan->count; i++) {
    steps[i] = plan->steps[i];
    steps[i].axes = plan->steps[i].kind == RESHARD_PERMUTE ? expand_map(arena, bundles, plan->steps[i].axes)
                                                           : expand_list(arena, bundles, plan->steps[i].axes);
  }
  return (ReshardPlan){plan->count, steps, plan->bytes};
}
