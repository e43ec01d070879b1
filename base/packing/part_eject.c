/* Ejection: a solution is lowered by taking out what reaches above a lower height and placing it elsewhere.
 *
 * An item that is out goes into the tightest gap that holds it.  Where there is none it goes where those in its way
 * weigh least, and they come out.  Each time an item finds no gap its weight rises, so those that are hard to place
 * come to stay (guided ejection search: Nagata and Bräysy, "A powerful route minimization heuristic", 2009). */
#include "base/array.h"
#include "base/checked_math.h"
#include "base/packing/packing_internal.h"
#include "base/packing/part_conflicts.h"

enum { OUT = -1, MOST_EJECTED_PAIRS = 1 << 23 };

/* Weights of items that find no gap rise by a part of themselves: by less in large parts, which are ejected from for
 * long; in small ones the searches have most of the work.  Where one reaches the most there is, all fall: those that
 * were hard to place long ago count no more than the others, and sums of weights never overflow. */
enum { FIRST_WEIGHT = 8, RISE = 64, RISE_OF_SMALL = 8, MOST_WEIGHT = 1 << 24, FALL = 1 << 12 };

/* A place and the item that begins or ends there, as one number to sort by. */
typedef uint64_t Edge;

static inline Edge edge_of(Units place, int32_t item) {
  return (uint64_t)place << 32 | (uint32_t)item;
}

static inline Units edge_place(Edge edge) {
  return (Units)(edge >> 32);
}

static inline int32_t edge_item(Edge edge) {
  return (int32_t)(edge & UINT32_MAX);
}

typedef struct Ejection {
  const Part *part;
  Arena *scratch;
  Conflicts conflicts;
  Units *offsets; /* OUT: not placed */
  Units *sizes;
  int64_t *weights;
  int32_t *out; /* a stack */
  int32_t out_count;
  Units capacity;
  Edge *by_start, *by_end; /* what is in the way of the item at hand */
  int32_t in_way;
  uint64_t seed;
  Work *work;
} Ejection;

static uint32_t next_random(Ejection *ejection) {
  ejection->seed = ejection->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(ejection->seed >> 33);
}

static void sort_few(Edge *edges, int32_t count) {
  for (int32_t i = 1; i < count; i++) {
    Edge edge = edges[i];
    int32_t k = i;
    for (; k > 0 && edges[k - 1] > edge; k--) edges[k] = edges[k - 1];
    edges[k] = edge;
  }
}

/* Rising; no two are alike.  Quicksort: the middle of three parts them. */
static void sort_edges(Edge *edges, int32_t count) {
  enum { FEW = 16 };
  while (count > FEW) {
    Edge a = edges[0], b = edges[count / 2], c = edges[count - 1];
    Edge pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
    int32_t low = 0, high = count - 1;
    while (low <= high) {
      while (edges[low] < pivot) low++;
      while (edges[high] > pivot) high--;
      if (low > high) break;
      Edge swapped = edges[low];
      edges[low++] = edges[high];
      edges[high--] = swapped;
    }
    /* The smaller side here, the larger one in the next turn. */
    if (high + 1 < count - low) {
      sort_edges(edges, high + 1);
      edges += low;
      count -= low;
    } else {
      sort_edges(edges + low, count - low);
      count = high + 1;
    }
  }
  sort_few(edges, count);
}

/* The first place at |offset| or after it where item |i| is aligned and clear of what is taken. */
static Units next_free(const Ejection *ejection, int32_t i, Units offset) {
  int64_t unit = ejection->conflicts.unit;
  return (Units)(part_next_free(ejection->part, i, offset * unit) / unit);
}

/* Collects what meets item |i| and is placed. */
static void collect(Ejection *ejection, int32_t i) {
  const Conflicts *conflicts = &ejection->conflicts;
  int32_t count = 0;
  for (int32_t c = conflicts->first[i]; c < conflicts->first[i + 1]; c++) {
    int32_t other = conflicts->rows[c].other;
    if (ejection->offsets[other] == OUT) continue;
    ejection->by_start[count++] = edge_of(ejection->offsets[other], other);
  }
  ejection->work->left -= 6 * (conflicts->first[i + 1] - conflicts->first[i]) + 32;
  sort_edges(ejection->by_start, count);
  ejection->in_way = count;
}

/* Where the item of |edge| ends. */
static inline Units end_of(const Ejection *ejection, Edge edge) {
  return edge_place(edge) + ejection->sizes[edge_item(edge)];
}

/* The start of the tightest gap that holds item |i|; OUT: none. */
static Units find_gap(Ejection *ejection, int32_t i) {
  Units top = next_free(ejection, i, 0), size = ejection->sizes[i], best = OUT, least = INT32_MAX;
  for (int32_t e = 0; e <= ejection->in_way; e++) {
    Units start = e < ejection->in_way ? edge_place(ejection->by_start[e]) : ejection->capacity;
    if (start - top >= size && start - top < least) {
      best = top;
      least = start - top;
    }
    if (e == ejection->in_way) break;
    Units end = end_of(ejection, ejection->by_start[e]);
    if (end > top) top = next_free(ejection, i, end);
  }
  return best;
}

/* Where those in the way of item |i| weigh least. */
static Units find_lightest(Ejection *ejection, int32_t i) {
  int32_t count = ejection->in_way;
  Units size = ejection->sizes[i], best = OUT;
  int64_t least = INT64_MAX;
  int ties = 0;
  for (int32_t e = 0; e < count; e++) {
    Edge edge = ejection->by_start[e];
    ejection->by_end[e] = edge_of(end_of(ejection, edge), edge_item(edge));
  }
  sort_edges(ejection->by_end, count);
  /* Candidates: on top of each extent, and below each. */
  for (int below = 0; below < 2; below++) {
    int32_t started = 0, ended = 0;
    int64_t weight = 0;
    for (int32_t e = -1; e <= count; e++) {
      Units offset;
      if (e < 0) {
        if (below) continue;
        offset = 0;
      } else if (below) {
        offset = (e < count ? edge_place(ejection->by_start[e]) : ejection->capacity) - size;
      } else {
        if (e == count) break;
        offset = edge_place(ejection->by_end[e]);
      }
      if (offset < 0) continue;
      if (next_free(ejection, i, offset) != offset) continue;
      if (offset + size > ejection->capacity) break;
      while (started < count && edge_place(ejection->by_start[started]) < offset + size)
        weight += ejection->weights[edge_item(ejection->by_start[started++])];
      while (ended < count && edge_place(ejection->by_end[ended]) <= offset)
        weight -= ejection->weights[edge_item(ejection->by_end[ended++])];
      if (weight > least) continue;
      ties = weight < least ? 1 : ties + 1;
      if (weight == least && next_random(ejection) % (uint32_t)ties != 0) continue;
      least = weight;
      best = offset;
    }
  }
  return best;
}

static void take_out(Ejection *ejection, int32_t i) {
  ejection->offsets[i] = OUT;
  ejection->out[ejection->out_count++] = i;
}

static void raise_weight(Ejection *ejection, int32_t i) {
  ejection->weights[i] += 1 + ejection->weights[i] / (ejection->part->item_count > PART_LARGE ? RISE : RISE_OF_SMALL);
  if (ejection->weights[i] < MOST_WEIGHT) return;
  ejection->work->left -= ejection->part->item_count;
  for (int32_t k = 0; k < ejection->part->item_count; k++)
    ejection->weights[k] = max_i64(ejection->weights[k] / FALL, FIRST_WEIGHT);
}

/* Places the item that came out last; false when it cannot be placed at all. */
static bool put_in(Ejection *ejection) {
  int32_t i = ejection->out[--ejection->out_count];
  collect(ejection, i);
  Units offset = find_gap(ejection, i);
  if (offset == OUT) {
    raise_weight(ejection, i);
    offset = find_lightest(ejection, i);
    if (offset == OUT) return false;
    for (int32_t e = 0; e < ejection->in_way; e++) {
      Edge edge = ejection->by_start[e];
      bool is_hit = edge_place(edge) < offset + ejection->sizes[i] && offset < end_of(ejection, edge);
      if (is_hit) take_out(ejection, edge_item(edge));
    }
  }
  ejection->offsets[i] = offset;
  return true;
}

/* Takes out all above |capacity| and places until all are in; false when the work is done first. */
static bool lower_to(Ejection *ejection, Units capacity) {
  ejection->capacity = capacity;
  ejection->out_count = 0;
  for (int32_t i = 0; i < ejection->part->item_count; i++) {
    if (ejection->offsets[i] + ejection->sizes[i] > capacity) take_out(ejection, i);
  }
  while (ejection->out_count > 0) {
    if (ejection->work->left <= 0 || !put_in(ejection)) return false;
  }
  return true;
}

int64_t part_eject(const Part *part, int64_t goal, Work *work, int64_t height, int64_t *offsets) {
  Ejection ejection = {.part = part, .scratch = arena_create(), .seed = 1, .work = work};
  int32_t count = part->item_count, most = 0;
  int64_t largest = 0;
  for (int32_t i = 0; i < count; i++) largest = max_i64(largest, part->items[i].size);
  bool is_listed = conflicts_list(ejection.scratch, part, MOST_EJECTED_PAIRS, &ejection.conflicts);
  int64_t unit = is_listed ? ejection.conflicts.unit : 1;
  if (!is_listed || (height + largest) / unit > INT32_MAX) {
    arena_destroy(ejection.scratch);
    return height;
  }
  work->left -= 2 * ejection.conflicts.first[count];
  ejection.offsets = ARENA_NEW_ARRAY(ejection.scratch, Units, count + 1);
  ejection.sizes = ARENA_NEW_ARRAY(ejection.scratch, Units, count + 1);
  ejection.weights = ARENA_NEW_ARRAY(ejection.scratch, int64_t, count + 1);
  ejection.out = ARENA_NEW_ARRAY(ejection.scratch, int32_t, count + 1);
  for (int32_t i = 0; i < count; i++) {
    int32_t row = ejection.conflicts.first[i + 1] - ejection.conflicts.first[i];
    if (row > most) most = row;
    ejection.offsets[i] = (Units)(offsets[i] / unit);
    ejection.sizes[i] = (Units)(part->items[i].size / unit);
    ejection.weights[i] = FIRST_WEIGHT;
  }
  ejection.by_start = ARENA_NEW_ARRAY(ejection.scratch, Edge, most + 1);
  ejection.by_end = ARENA_NEW_ARRAY(ejection.scratch, Edge, most + 1);
  while (height > goal && work->left > 0) {
    int64_t step = max_i64(unit, part->bound / 256);
    if (!lower_to(&ejection, (Units)(max_i64(goal, height - step) / unit))) break;
    for (int32_t i = 0; i < count; i++) offsets[i] = ejection.offsets[i] * unit;
    height = part_height(part, offsets);
  }
  arena_destroy(ejection.scratch);
  return height;
}
