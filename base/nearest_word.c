#include "base/nearest_word.h"

enum {
  SHORT = 4,           /* characters; of fewer, two edits make any word of any other */
  LONG = 9,            /* and of so many or more a third edit is still a slip */
  LEAST_SHORTENED = 3, /* characters that are enough for the beginning or end of a candidate */
  LONGEST = 256        /* what is longer was not meant as a word, and counting its edits takes time */
};

NearestWord nearest_word_begin(StringView wanted) {
  int64_t number;
  if (sv_to_count(wanted, &number)) return (NearestWord){.wanted = wanted};
  int most = wanted.size < SHORT ? 1 : wanted.size < LONG ? 2 : 3;
  return (NearestWord){.wanted = wanted, .distance = most + 1};
}

/* Counts as one edit, however much was left out. */
static bool is_shortened(StringView wanted, StringView candidate) {
  return wanted.size >= LEAST_SHORTENED && (sv_starts_with(candidate, wanted) || sv_ends_with(candidate, wanted));
}

void nearest_word_offer(NearestWord *nearest, StringView candidate) {
  StringView wanted = nearest->wanted;
  int most = nearest->distance - 1, distance = 1;
  if (candidate.size == 0 || most < 0) return;
  if (most < 1 || !is_shortened(wanted, candidate)) {
    size_t difference = wanted.size > candidate.size ? wanted.size - candidate.size : candidate.size - wanted.size;
    if (wanted.size > LONGEST || difference > (size_t)most) return;
    distance = sv_edit_distance(wanted, candidate, most);
  }
  /* As many edits as characters leave nothing of the word. */
  if (distance > most || (size_t)distance >= wanted.size) return;
  nearest->distance = distance;
  nearest->word = candidate;
}

void nearest_word_note(const NearestWord *nearest, DiagSink *diag) {
  if (nearest->word.size > 0) diag_note(diag, NO_LOC, "did you mean '%.*s'?", SV_ARG(nearest->word));
}
