#include "base/nearest_word.h"

NearestWord nearest_word_begin(StringView wanted, int too_many) {
  return (NearestWord){.wanted = wanted, .distance = too_many};
}

void nearest_word_offer(NearestWord *nearest, StringView candidate) {
  if (candidate.size == 0) return;
  int distance = sv_edit_distance(candidate, nearest->wanted, nearest->distance);
  if (distance >= nearest->distance) return;
  nearest->distance = distance;
  nearest->word = candidate;
}
