/* A part of an instance that is solved on its own: items of one region that may move, in some sections, among bytes
 * that are taken already.  Offsets below are one per item of the part. */
#ifndef XLAC_BASE_PACKING_PART_H
#define XLAC_BASE_PACKING_PART_H

#include "base/array.h"
#include "base/packing/packing_instance.h"

/* Parts of more items than this are large: searches find little in them, ejection the most. */
enum { PART_LARGE = 500 };

/* Bytes [start, end) in which an item has no place for its first |need| bytes. */
typedef struct Obstacle {
  int64_t start, end, need;
} Obstacle;

typedef struct ItemObstacles {
  const Obstacle *data; /* by start */
  int32_t count;
} ItemObstacles;

typedef struct Part {
  Item *items; /* none pinned; their sections count from this part's first */
  int32_t item_count, section_count;
  int32_t *number;          /* of each item in the instance */
  ItemObstacles *obstacles; /* one per item; NULL: nobody has any */
  int64_t base;             /* address of offset 0 */
  int64_t *live;            /* bytes alive, by section, those of pinned items too */
  int64_t floor;            /* the highest end of a pinned item; no solution is lower */
  int64_t bound;            /* no solution is lower: at least |floor| and the most that is live */
} Part;

typedef ARRAY(Part) PartArray;

/* A budget of steps: what is left.  A step is about what it takes to look at one item or section. */
typedef struct Work {
  int64_t left;
} Work;

static inline int64_t part_align(const Part *part, const Item *item, int64_t offset) {
  if (item->alignment == 1) return offset;
  int64_t rest = (part->base + offset) % item->alignment;
  return rest == 0 ? offset : offset + item->alignment - rest;
}

/* The first place for item |i| at |offset| or after it that is aligned and clear of what is taken. */
static inline int64_t part_next_free(const Part *part, int32_t i, int64_t offset) {
  offset = part_align(part, &part->items[i], offset);
  if (part->obstacles == NULL) return offset;
  const ItemObstacles *obstacles = &part->obstacles[i];
  for (int32_t k = 0; k < obstacles->count; k++) {
    const Obstacle *obstacle = &obstacles->data[k];
    if (obstacle->end <= offset || offset + obstacle->need <= obstacle->start) continue;
    offset = part_align(part, &part->items[i], obstacle->end);
    k = -1; /* one that was passed may be in the way now, since needs differ */
  }
  return offset;
}

/* Splits the items |chosen| of |instance| (those of one region, whose offset 0 is at address |base|; pinned ones take
 * their bytes) where nothing is alive in two neighbouring sections.  False when that takes more than |most_pairs| pairs
 * of a pinned item and one that meets it. */
bool part_split(Arena *arena, const Instance *instance, const int32_t *chosen, int32_t chosen_count, int64_t base,
                int64_t most_pairs, PartArray *out_parts);

/* The height of |offsets|. */
int64_t part_height(const Part *part, const int64_t *offsets);

/* --- orders of items --- */

/* What items are compared by, the first that differs decides; the larger first.  T: the most that is live in one of
 * its sections; A: bytes times duration; W: duration; Z: size; U, L: the last, the first section.  |rank| gets the
 * place of each item. */
void part_rank(const Part *part, Arena *scratch, const char *letters, int32_t *rank);

/* --- dives --- */

/* Places one item after the other, always one that can lie lowest, of these the one with the least rank: on what lies
 * below, never into a gap.  The offsets and their height; -1 when the steps did not suffice. */
int64_t part_dive(const Part *part, Arena *scratch, const int32_t *rank, Work *work, int64_t *offsets);

/* Places the items in the order of |rank|, each on all that it meets: takes few steps whatever the part is like. */
int64_t part_stack(const Part *part, Arena *scratch, const int32_t *rank, int64_t *offsets);

/* --- one part, by all means --- */

/* How a part stands. */
typedef struct PartSolution {
  const Part *part;
  int64_t *offsets;
  int64_t height;
  int64_t bound; /* no solution of the part is lower; at least the part's bound */
} PartSolution;

/* A first solution: the lowest of some dives, the first of which takes what it takes. */
PartSolution part_solution_first(Arena *arena, const Part *part, int64_t goal, Work *work);

/* What a solution should reach. */
typedef struct PartAim {
  int64_t goal;     /* a height that is low enough */
  bool is_capacity; /* a higher one is of no use: a proof that |goal| is out of reach ends the search */
} PartAim;

/* Lowers the solution until it reaches the goal, |work| is used up, or bound and height meet. */
void part_solution_improve(PartSolution *solution, PartAim aim, Work *work);

/* --- ejection --- */

/* Lowers |offsets|, a solution of height |height|, as far as it can within |work|, or to |goal|: takes out what reaches
 * above a lower height and puts it back in elsewhere, taking out what is in the way and was easy to place before.  The
 * height reached. */
int64_t part_eject(const Part *part, int64_t goal, Work *work, int64_t height, int64_t *offsets);

/* --- the exact search --- */

typedef struct Search Search;

typedef enum SearchResult {
  SEARCH_FOUND,
  SEARCH_NONE, /* proved: there is no placement within the capacity */
  SEARCH_LIMIT /* out of steps */
} SearchResult;

/* What a search needs to know of |part|; NULL when the part has more than |most_pairs| pairs of items that meet, or
 * sizes beyond 2^30 of their common divisor.  Lives in |arena|. */
Search *search_create(Arena *arena, const Part *part, int64_t most_pairs);

/* The common divisor of all sizes and places: heights are multiples of it. */
int64_t search_unit(const Search *search);

/* How a search decides between items that may lie equally low. */
typedef struct SearchOrder {
  const int32_t *rank;     /* at first */
  const int32_t *cut_rank; /* where a placement has cut time in two: between those that meet equally much to come */
} SearchOrder;

/* Looks for a placement within |capacity|. */
SearchResult search_run(Search *search, SearchOrder order, int64_t capacity, Work *work, int64_t *offsets);

#endif
