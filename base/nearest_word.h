/* NearestWord: "did you mean": the candidate with the fewest edits from a word. */
#ifndef XLAC_BASE_NEAREST_WORD_H
#define XLAC_BASE_NEAREST_WORD_H

#include "base/string_view.h"

typedef struct NearestWord {
  StringView wanted;
  StringView word; /* the nearest candidate so far, the first of equally near ones; empty: none is near */
  int distance;    /* its edits; without one, those that are too many */
} NearestWord;

/* Candidates with |too_many| edits or more are not near. */
NearestWord nearest_word_begin(StringView wanted, int too_many);
/* An empty |candidate| is none. */
void nearest_word_offer(NearestWord *nearest, StringView candidate);

#endif
