#pragma once
#include <sqlite3.h>

// When SQLite moves rows between pages, it leaves copies of them in the unused space of the pages,
// even with PRAGMA secure_delete. These functions make a connection write zeros to that space.
//
// A page of a table or an index begins with 2, 5, 10 or 13. Other pages begin with a page number of
// four bytes, or with zeros. The first byte of a number below 2^25 is 0 or 1, so the caller limits
// the number of pages. With auto_vacuum there are pointer maps, which begin with other bytes. Their
// places are known (sqlite.org/fileformat2.html#pointer_map_or_ptrmap_pages).

struct holdfast_cleaner {
  sqlite3_io_methods methods;
  const sqlite3_io_methods *real;
  /// Whether the file has pointer maps.
  int maps;
};

static inline int holdfast_close(sqlite3_file *file) {
  struct holdfast_cleaner *cleaner = (struct holdfast_cleaner *)file->pMethods;
  int code = cleaner->real->xClose(file);
  sqlite3_free(cleaner);
  return code;
}

/// Returns the offset at which the unused space of a page begins, and sets `end` to its end. Both
/// are 0 if the page is none of a table or an index (sqlite.org/fileformat2.html#b_tree_pages).
static inline int holdfast_unused(const unsigned char *page, int size, int header, int *end) {
  *end = 0;
  if (size < 512 || size > 65536 || (size & (size - 1)) != 0) return 0;
  int kind = page[header];
  if (kind != 2 && kind != 5 && kind != 10 && kind != 13) return 0;
  int cells = page[header + 3] << 8 | page[header + 4];
  int content = page[header + 5] << 8 | page[header + 6];
  if (content == 0) content = 65536;
  int start = header + (kind <= 5 ? 12 : 8) + 2 * cells;
  if (start >= content || content > size) return 0;
  *end = content;
  return start;
}

/// Returns whether the page at an offset is a pointer map, in a file that has such pages.
static inline int holdfast_is_map(int size, sqlite3_int64 at) {
  sqlite3_int64 page = at / size + 1;
  if (page < 2) return 0;
  // A map has an entry of five bytes for each page after it.
  sqlite3_int64 part = size / 5 + 1;
  sqlite3_int64 map = (page - 2) / part * part + 2;
  // The page with the bytes that are locked is never used.
  if (map == 0x40000000 / size + 1) map += 1;
  return page == map;
}

static inline int holdfast_write(
    sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at) {
  const struct holdfast_cleaner *cleaner = (const struct holdfast_cleaner *)file->pMethods;
  const sqlite3_io_methods *real = cleaner->real;
  if (cleaner->maps && count > 0 && holdfast_is_map(count, at)) {
    return real->xWrite(file, bytes, count, at);
  }
  int end;
  int start = holdfast_unused(bytes, count, at == 0 ? 100 : 0, &end);
  if (end == 0 || at % count != 0) return real->xWrite(file, bytes, count, at);
  char *page = sqlite3_malloc(count);
  if (!page) return SQLITE_IOERR_NOMEM;
  __builtin_memcpy(page, bytes, count);
  __builtin_memset(page + start, 0, end - start);
  int code = real->xWrite(file, page, count, at);
  sqlite3_free(page);
  return code;
}

/// Makes a connection write zeros to the unused space of each page that it writes to its file.
static inline int holdfast_clean(sqlite3 *database) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK || !file || !file->pMethods) return code;
  struct holdfast_cleaner *cleaner = sqlite3_malloc(sizeof *cleaner);
  if (!cleaner) return SQLITE_NOMEM;
  cleaner->methods = *file->pMethods;
  cleaner->real = file->pMethods;
  cleaner->maps = 0;
  cleaner->methods.xClose = holdfast_close;
  cleaner->methods.xWrite = holdfast_write;
  file->pMethods = &cleaner->methods;
  return SQLITE_OK;
}

/// Tells whether the file of a connection has pointer maps, after `holdfast_clean`.
static inline int holdfast_expect_maps(sqlite3 *database, int maps) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK || !file || !file->pMethods) return code;
  ((struct holdfast_cleaner *)file->pMethods)->maps = maps;
  return SQLITE_OK;
}
