// The switch of mutants: one byte for each, set at the start of a process.
#ifndef CMUTANTS_H
#define CMUTANTS_H
#include <stdbool.h>
#include <stdint.h>

#define MUTANTS_LIMIT 65536

// 0: off. 1: watched until it would make a difference. 2: on.
extern unsigned char mutants_flags[MUTANTS_LIMIT];

static inline bool mutants_off(int32_t number) {
  return __builtin_expect(mutants_flags[number] == 0, 1);
}

static inline bool mutants_off_both(int32_t number) {
  return __builtin_expect((mutants_flags[number] | mutants_flags[number + 1]) == 0, 1);
}

static inline bool mutants_on(int32_t number) { return mutants_flags[number] == 2; }

// Returns whether a mutant is on. Records that it makes a difference, or would if it were on.
bool mutants_take(int32_t number, bool differs);

// Watches all mutants from now on, and clears the records.
void mutants_watch(void);

// Returns whether a mutant made a difference, or would have, since `mutants_watch` or
// `mutants_forget`.
bool mutants_seen(int32_t number);

// Clears the record that a mutant made a difference.
void mutants_forget(int32_t number);

#endif
