/* NearestWord: "did you mean": the candidate with the fewest edits from a word.  One rule for all that users write:
 * options and their values, opcodes, names, keys of files. */
#ifndef XLAC_BASE_NEAREST_WORD_H
#define XLAC_BASE_NEAREST_WORD_H

#include "base/diagnostic.h"
#include "base/string_view.h"

typedef struct NearestWord {
  StringView wanted;
  StringView word; /* the nearest candidate so far, the first of equally near ones; empty: none is near */
  int distance;    /* its edits; without one, those that are too many */
} NearestWord;

/* |wanted| and the candidates must outlive the result. */
NearestWord nearest_word_begin(StringView wanted);
/* Near is what a few edits make of the word, more of them the longer it is, or what begins or ends with it.  An empty
 * |candidate| is none, and nothing is near a number: another one was not meant. */
void nearest_word_offer(NearestWord *nearest, StringView candidate);
/* Adds "did you mean 'WORD'?" to the latest diagnostic; nothing when no candidate was near. */
void nearest_word_note(const NearestWord *nearest, DiagSink *diag);

#endif
