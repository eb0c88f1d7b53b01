// The functions that a link's program needs from its board: memory, C's byte functions, arithmetic
// that the processor lacks, output and exit. A real board has its own. scripts/embedded compiles
// this file for WebAssembly, where it calls WASI, and for RISC-V, where it calls Linux.
//
// With PAGE it is compiled for the functions of a web page, which have no program and no output, and
// whose memory grows. scripts/playground does that.
typedef __SIZE_TYPE__ size_t;
typedef __UINTPTR_TYPE__ address;
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#ifdef PAGE
int putchar(int character) { return character; }
#else
#ifdef __wasm__
#define MAIN "__main_argc_argv"
#else
#define MAIN "main"
#endif
int program(int, char **) __asm__(MAIN);

// Output and exit.

#ifdef __wasm__
struct bytes { const void *start; size_t count; };
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write")))
int fd_write(int file, const struct bytes *all, size_t count, size_t *written);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_exit"), noreturn))
void proc_exit(int status);

static void put(int file, const char *text, size_t count) {
  struct bytes all = {text, count};
  size_t written;
  fd_write(file, &all, 1, &written);
}
static _Noreturn void end(int status) { proc_exit(status); }
#else
static address call(address number, address first, address second, address third) {
  register address a7 __asm__("a7") = number;
  register address a0 __asm__("a0") = first;
  register address a1 __asm__("a1") = second;
  register address a2 __asm__("a2") = third;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
  return a0;
}
static void put(int file, const char *text, size_t count) {
  call(64, file, (address)text, count);
}
static _Noreturn void end(int status) {
  call(93, status, 0, 0);
  __builtin_trap();
}
#endif

static char line[512];
static size_t length;

int putchar(int character) {
  line[length++] = (char)character;
  if (character == '\n' || length == sizeof line) {
    put(1, line, length);
    length = 0;
  }
  return character;
}
#endif

// Memory: blocks of powers of two, each preceded by its class. Free blocks are in a list.

#ifdef PAGE
extern u8 __heap_base;
#define heap ((u8 *)(((address)&__heap_base + 15) & ~(address)15))
static size_t used;

// Returns whether the memory ends after the first bytes of the heap, growing it if necessary.
static int reaches(size_t bytes) {
  size_t pages = ((size_t)heap + bytes + 65535) / 65536;
  size_t present = __builtin_wasm_memory_size(0);
  return pages <= present || __builtin_wasm_memory_grow(0, pages - present) != (size_t)-1;
}
#else
static u8 heap[1 << 20] __attribute__((aligned(16)));
static size_t used;
static int reaches(size_t bytes) { return bytes <= sizeof heap; }
#endif
static void *unused[32];

int posix_memalign(void **block, size_t alignment, size_t count) {
  size_t class = 5;
  while (((size_t)1 << class) < count + 16) class++;
  u8 *found = unused[class];
  if (alignment > 16) return 22;
  if (found) {
    unused[class] = *(void **)found;
  } else {
    if (class > 30 || !reaches(used + ((size_t)1 << class))) return 12;
    found = heap + used;
    used += (size_t)1 << class;
  }
  *(size_t *)found = class;
  *block = found + 16;
  return 0;
}

void free(void *block) {
  if (!block) return;
  u8 *start = (u8 *)block - 16;
  size_t class = *(size_t *)start;
  *(void **)start = unused[class];
  unused[class] = start;
}

void *memset(void *to, int value, size_t count) {
  for (u8 *byte = to; count--;) *byte++ = (u8)value;
  return to;
}
void *memmove(void *to, const void *from, size_t count) {
  u8 *target = to;
  const u8 *source = from;
  if (target <= source) {
    while (count--) *target++ = *source++;
  } else {
    while (count--) target[count] = source[count];
  }
  return to;
}
void *memcpy(void *to, const void *from, size_t count) { return memmove(to, from, count); }
int memcmp(const void *left, const void *right, size_t count) {
  for (const u8 *a = left, *b = right; count--; a++, b++) {
    if (*a != *b) return *a - *b;
  }
  return 0;
}

// Seeds hash tables. The behavior of a link must not depend on their order.
void arc4random_buf(void *to, size_t count) {
  static u32 state = 2463534242u;
  for (u8 *byte = to; count--;) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    *byte++ = (u8)state;
  }
}

// Reads a decimal number of at most 15 digits without an exponent, and so rounds only once.
const char *_swift_stdlib_strtod_clocale(const char *text, double *number) {
  double digits = 0, scale = 1;
  int isFraction = 0;
  for (; (*text >= '0' && *text <= '9') || (*text == '.' && !isFraction); text++) {
    if (*text == '.') {
      isFraction = 1;
    } else {
      digits = digits * 10 + (*text - '0');
      if (isFraction) scale *= 10;
    }
  }
  *number = digits / scale;
  return text;
}

address __stack_chk_guard = 0x5a17;
void __stack_chk_fail(void) { __builtin_trap(); }

// 128-bit arithmetic, which durations use. It avoids operators that would call it again.

struct wide { u64 low, high; };

static struct wide negated(struct wide a) {
  struct wide result = {-a.low, ~a.high + (a.low == 0)};
  return result;
}

static struct wide quotient(struct wide a, struct wide b) {
  int negative = (s64)(a.high ^ b.high) < 0;
  struct wide rest = {0, 0};
  if ((s64)a.high < 0) a = negated(a);
  if ((s64)b.high < 0) b = negated(b);
  for (int bit = 0; bit < 128; bit++) {
    rest.high = rest.high << 1 | rest.low >> 63;
    rest.low = rest.low << 1 | a.high >> 63;
    a.high = a.high << 1 | a.low >> 63;
    a.low <<= 1;
    if (rest.high > b.high || (rest.high == b.high && rest.low >= b.low)) {
      rest.high -= b.high + (rest.low < b.low);
      rest.low -= b.low;
      a.low |= 1;
    }
  }
  return negative ? negated(a) : a;
}

#ifdef __wasm__
void __divti3(struct wide *to, u64 al, u64 ah, u64 bl, u64 bh) {
  *to = quotient((struct wide){al, ah}, (struct wide){bl, bh});
}
void __multi3(struct wide *to, u64 al, u64 ah, u64 bl, u64 bh) {
  u64 a0 = (u32)al, a1 = al >> 32, b0 = (u32)bl, b1 = bl >> 32;
  u64 middle = (a0 * b0 >> 32) + (u32)(a0 * b1) + (u32)(a1 * b0);
  to->low = middle << 32 | (u32)(a0 * b0);
  to->high = a1 * b1 + (a0 * b1 >> 32) + (a1 * b0 >> 32) + (middle >> 32) + ah * bl + al * bh;
}
#else
struct wide __divti3(struct wide a, struct wide b) { return quotient(a, b); }

// 64-bit arithmetic on a 32-bit processor.

u64 __ashldi3(u64 a, int by) {
  u32 low = (u32)a, high = (u32)(a >> 32);
  if (by == 0) return a;
  if (by >= 32) return (u64)(low << (by - 32)) << 32;
  return (u64)(high << by | low >> (32 - by)) << 32 | low << by;
}
u64 __lshrdi3(u64 a, int by) {
  u32 low = (u32)a, high = (u32)(a >> 32);
  if (by == 0) return a;
  if (by >= 32) return high >> (by - 32);
  return (u64)(high >> by) << 32 | (low >> by | high << (32 - by));
}
static u64 divided(u64 a, u64 b, u64 *rest) {
  *rest = 0;
  for (int bit = 0; bit < 64; bit++) {
    *rest = *rest << 1 | a >> 63;
    a <<= 1;
    if (*rest >= b) *rest -= b, a |= 1;
  }
  return a;
}
u64 __udivdi3(u64 a, u64 b) { u64 rest; return divided(a, b, &rest); }
u64 __umoddi3(u64 a, u64 b) { u64 rest; return divided(a, b, &rest), rest; }
s64 __divdi3(s64 a, s64 b) {
  u64 rest, whole = divided(a < 0 ? -(u64)a : (u64)a, b < 0 ? -(u64)b : (u64)b, &rest);
  return (s64)((a < 0) != (b < 0) ? -whole : whole);
}
s64 __moddi3(s64 a, s64 b) {
  u64 rest;
  divided(a < 0 ? -(u64)a : (u64)a, b < 0 ? -(u64)b : (u64)b, &rest);
  return (s64)(a < 0 ? -rest : rest);
}
double __floatundidf(u64 a) { return (double)(u32)(a >> 32) * 0x1p32 + (double)(u32)a; }
double __floatdidf(s64 a) {
  return a < 0 ? -__floatundidf(-(u64)a) : __floatundidf((u64)a);
}
s64 __fixdfdi(double a) {
  double size = a < 0 ? -a : a;
  u32 high = (u32)(size * 0x1p-32);
  u64 whole = (u64)high << 32 | (u32)(size - high * 0x1p32);
  return (s64)(a < 0 ? -whole : whole);
}
double ceil(double a) {
  if (!(a > -0x1p52 && a < 0x1p52)) return a;
  double whole = __floatdidf(__fixdfdi(a));
  return whole < a ? whole + 1 : whole;
}
#endif

#ifndef PAGE
void _start(void) {
  int status = program(0, 0);
  char text[] = "heap        0\n";
  size_t rest = used;
  for (int place = 12; rest; place--, rest /= 10) text[place] = (char)('0' + rest % 10);
  put(2, text, sizeof text - 1);
  end(status);
}
#endif
