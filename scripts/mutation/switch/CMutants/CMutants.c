#include "CMutants.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned char mutants_flags[MUTANTS_LIMIT];
static unsigned char own[MUTANTS_LIMIT];
static unsigned char *seen = own;

bool mutants_take(int32_t number, bool differs) {
  if (mutants_flags[number] == 2) {
    if (differs) seen[number] = 1;
    return true;
  }
  if (differs && mutants_flags[number] == 1) {
    seen[number] = 1;
    mutants_flags[number] = 0;
  }
  return false;
}

void mutants_watch(void) {
  memset(seen, 0, MUTANTS_LIMIT);
  memset(mutants_flags, 1, MUTANTS_LIMIT);
}

bool mutants_seen(int32_t number) { return seen[number] != 0; }

void mutants_forget(int32_t number) { seen[number] = 0; }

// MUTANT=NUMBER switches one mutant on. MUTANTS_SEEN=FILE watches all, and records them in the file
// even if the process is killed.
__attribute__((constructor)) static void begin(void) {
  const char *number = getenv("MUTANT");
  if (number != NULL) {
    int chosen = atoi(number);
    if (chosen > 0 && chosen < MUTANTS_LIMIT) mutants_flags[chosen] = 2;
  }
  const char *path = getenv("MUTANTS_SEEN");
  if (path == NULL) return;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, MUTANTS_LIMIT) != 0) abort();
  void *map = mmap(NULL, MUTANTS_LIMIT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) abort();
  seen = map;
  mutants_watch();
}
