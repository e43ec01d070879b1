/* CompilationFacts: the numbers that sum up a compilation, for statistics, reports and limits.
 *
 * A new one is a row in the table of compilation_facts.c. */
#ifndef XLAC_COMPILER_COMPILATION_FACTS_H
#define XLAC_COMPILER_COMPILATION_FACTS_H

#include "compiler/compilation.h"

typedef struct CompilationFact {
  const char *key;  /* as JSON has it */
  const char *text; /* as people read it, after the number */
  int64_t value;
} CompilationFact;

typedef ARRAY(CompilationFact) CompilationFacts;

/* What is known by now: of the module, of passes, of code and of memory, in this order; in |arena|. */
CompilationFacts compilation_facts(const Compilation *compilation, Arena *arena);

/* All facts there are, known or not, in that order: their keys; and what a compilation must have or make for one to be
 * known ("an object"). */
int compilation_fact_count(void);
const char *compilation_fact_key(int fact);
const char *compilation_fact_needs(int fact);

#endif
