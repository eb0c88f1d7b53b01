// Opens many WebSockets to one server and measures the server's behavior, in the same way for each
// server.
//
// Arguments: PORT, then any of --tls --resume --deflate --nats --json --shops N --mixed --path P,
// --post P --body FILE --expect TEXT, and --header H --post-port P, both repeatable.
// Each line of standard input is a command. Each command prints one line:
//
//   open N           opens N more sockets       opened TOTAL P50 P99 (microseconds each)
//   fan N            requests N broadcasts      fan MESSAGES SECONDS
//   echo N           echoes 300 bytes N times   echo P50 P99 (microseconds)
//   idle S           answers pings for S s      idle PINGS
//   accept C S       runs C posters for S s     accepted RATE
//   outage C S       the same, with refusals    outage ACCEPTED REFUSED GAP LONGEST (seconds)
//   ask C S          runs C clients for S s     asked RATE P50 P99 (microseconds)
//   deliver R S      posts R per second, S s    delivered COUNT EXPECTED P50 P99, and P50 P99 from
//                                               the response to the post (microseconds)
//
// With `--serve [CERTIFICATE KEY]`, the program is a minimal server instead.
#define _GNU_SOURCE
#include "load.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

Target target = {.path = "/", .postPath = "/", .headers = {""}, .body = "", .expected = ""};
static Peer *peers;
static unsigned count;
static int poller;
static uint8_t buffer[65536];

static int by_size(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static double quantile(uint64_t *times, size_t size, double share) {
  if (size == 0) return -1;
  qsort(times, size, sizeof *times, by_size);
  size_t place = (size_t)(share * (double)size);
  return (double)times[place < size ? place : size - 1] / 1000;
}

static void open_more(unsigned more) {
  uint64_t *times = calloc(more + 1, sizeof *times);
  peers = realloc(peers, (count + more) * sizeof *peers);
  for (unsigned number = 0; number < more; number++) {
    uint64_t start = now();
    peer_open(&peers[count + number], count + number, true);
    times[number] = now() - start;
  }
  for (unsigned number = count; number < count + more; number++) {
    peer_block(&peers[number], false);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    epoll_ctl(poller, EPOLL_CTL_ADD, peers[number].fd, &event);
  }
  count += more;
  printf("opened %u %.1f %.1f\n", count, quantile(times, more, 0.5), quantile(times, more, 0.99));
  free(times);
}

/// Reads all available data, waiting at most the given time. Passes each piece to `take`.
static void serve(int milliseconds, void (*take)(const uint8_t *, size_t)) {
  struct epoll_event events[512];
  int ready = epoll_wait(poller, events, 512, milliseconds);
  for (int place = 0; place < ready; place++) {
    Peer *peer = &peers[events[place].data.u32];
    long got;
    do {
      got = peer_read(peer, buffer, sizeof buffer);
      if (got < 0) fail("a socket ended");
      if (got > 0 && take) take(buffer, (size_t)got);
      // Data in TLS's buffer does not make the descriptor readable.
    } while (peer->ssl && got > 0);
  }
}

static uint64_t pings(void) {
  uint64_t sum = 0;
  for (unsigned number = 0; number < count; number++) sum += peers[number].pings;
  return sum;
}

static uint64_t pieces;
static void count_pieces(const uint8_t *bytes, size_t size) {
  // Every message contains exactly one "@". No other data contains one.
  const uint8_t *end = bytes + size;
  while ((bytes = memchr(bytes, '@', (size_t)(end - bytes)))) pieces++, bytes++;
}

static void fan(unsigned messages) {
  char words[32];
  snprintf(words, sizeof words, "fan %u", messages);
  pieces = 0;
  uint64_t wanted = (uint64_t)messages * count, start = now();
  peer_send(&peers[0], 0x81, words, strlen(words));
  while (pieces < wanted) {
    serve(5000, count_pieces);
    if (now() - start > 60000000000) fail("not everybody was told");
  }
  printf("fan %llu %.6f\n", (unsigned long long)wanted, (double)(now() - start) / 1e9);
}

static void echo(unsigned times) {
  uint64_t *taken = calloc(times + 1, sizeof *taken);
  char message[300];
  memset(message, 'e', sizeof message);
  Peer *peer = &peers[count - 1];
  peer_block(peer, true);
  for (unsigned number = 0; number < times; number++) {
    uint64_t start = now(), before = peer->frames;
    peer_send(peer, 0x81, message, sizeof message);
    while (peer->frames == before)
      if (peer_read(peer, buffer, sizeof buffer) < 0) fail("no echo");
    taken[number] = now() - start;
  }
  peer_block(peer, false);
  printf("echo %.1f %.1f\n", quantile(taken, times, 0.5), quantile(taken, times, 0.99));
  free(taken);
}

static void idle(double seconds) {
  uint64_t end = now() + (uint64_t)(seconds * 1e9), before = pings();
  while (now() < end) serve(50, NULL);
  printf("idle %llu\n", (unsigned long long)(pings() - before));
}

/// A post that arrived at a socket.
typedef struct {
  uint64_t posted;
  uint64_t arrived;
} Arrival;

static Arrival *arrivals;
static size_t delivered, room;
static void take_delays(const uint8_t *bytes, size_t size) {
  const uint8_t *end = bytes + size;
  uint64_t at = now();
  // A time has 22 bytes: "t=" and twenty digits. A time that continues in the next read is skipped.
  while (bytes + 22 <= end && (bytes = memmem(bytes, (size_t)(end - bytes), "t=0", 3))) {
    if (bytes + 22 > end) return;
    char digits[21] = {0};
    memcpy(digits, bytes + 2, 20);
    if (delivered < room) arrivals[delivered++] = (Arrival){strtoull(digits, NULL, 10), at};
    bytes += 22;
  }
}

/// Prints the median and the 99th percentile of the time from each post to its arrivals, and of the
/// time from its response, which can be later than an arrival.
static void print_delays(const Plan *plan, size_t posts) {
  uint64_t *fromPost = calloc(delivered + 1, sizeof *fromPost);
  uint64_t *fromResponse = calloc(delivered + 1, sizeof *fromResponse);
  size_t found = 0;
  for (size_t place = 0; place < delivered; place++) {
    Arrival *one = &arrivals[place];
    uint64_t *post = bsearch(&one->posted, plan->posted, posts, sizeof *post, by_size);
    // Messages of an earlier command can arrive during this one.
    if (!post) continue;
    uint64_t answered = plan->answered[post - plan->posted];
    fromPost[found] = one->arrived - one->posted;
    fromResponse[found++] = one->arrived > answered ? one->arrived - answered : 0;
  }
  printf("delivered %zu %zu %.1f %.1f %.1f %.1f\n", found, room, quantile(fromPost, found, 0.5),
         quantile(fromPost, found, 0.99), quantile(fromResponse, found, 0.5),
         quantile(fromResponse, found, 0.99));
  free(fromPost);
  free(fromResponse);
}

static void deliver(double rate, double seconds) {
  uint64_t posted = (uint64_t)(rate * seconds);
  uint64_t *times = calloc(2 * posted + 1, sizeof *times);
  Plan plan = {.rate = rate, .seconds = seconds, .posted = times, .answered = times + posted};
  room = posted * count;
  arrivals = calloc(room + 1, sizeof *arrivals);
  delivered = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, post_load, &plan)) fail("thread");
  // Since times that are split between reads are skipped, the count can stay slightly below `room`.
  // The loop therefore also has a time limit, from the last post.
  while (delivered < room && (!plan.end || now() < plan.end + 2000000000)) serve(100, take_delays);
  pthread_join(thread, NULL);
  print_delays(&plan, posted);
  free(arrivals);
  free(times);
}

static void ask(int clients, double seconds) {
  uint64_t *times, start = now();
  size_t found = ask_load(clients, seconds, &times);
  double taken = (double)(now() - start) / 1e9;
  printf("asked %.1f %.1f %.1f\n", (double)found / taken, quantile(times, found, 0.5),
         quantile(times, found, 0.99));
  free(times);
}

/// Returns the text of a file.
static const char *text_of(const char *path) {
  FILE *file = fopen(path, "r");
  char *text = NULL;
  size_t size = 0;
  if (!file || getdelim(&text, &size, 0, file) < 0) fail(path);
  fclose(file);
  return text;
}

static void obey(const char *line) {
  unsigned number = 0;
  double first = 0, second = 0;
  if (sscanf(line, "open %u", &number) == 1) open_more(number);
  else if (sscanf(line, "fan %u", &number) == 1) fan(number);
  else if (sscanf(line, "echo %u", &number) == 1) echo(number);
  else if (sscanf(line, "idle %lf", &first) == 1) idle(first);
  else if (sscanf(line, "accept %lf %lf", &first, &second) == 2) accept_load((int)first, second);
  else if (sscanf(line, "outage %u %lf", &number, &second) == 2) outage_load((int)number, second);
  else if (sscanf(line, "ask %lf %lf", &first, &second) == 2) ask((int)first, second);
  else if (sscanf(line, "deliver %lf %lf", &first, &second) == 2) deliver(first, second);
  else printf("failed: no such command: %s", line);
  fflush(stdout);
}

/// Raises the descriptor limit. Only root may exceed the hard limit; others get the hard limit.
static void raise_descriptor_limit(void) {
  struct rlimit limit = {1000000, 1000000};
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void add_header(const char *value) {
  if (target.headerCount == most_headers) fail("too many headers");
  target.headers[target.headerCount++] = value;
}

static void add_port(int port) {
  if (target.postPortCount == most_ports) fail("too many ports");
  target.postPorts[target.postPortCount++] = port;
}

int main(int words, char **word) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  raise_descriptor_limit();
  if (words > 1 && !strcmp(word[1], "--serve"))
    serve_least(words > 3 ? word[2] : "", words > 3 ? word[3] : "");
  if (words > 1 && !strcmp(word[1], "curl")) return curl_alone(words, word);
  for (int place = 1; place < words; place++) {
    const char *name = word[place], *value = place + 1 < words ? word[place + 1] : "";
    if (!strcmp(name, "--tls")) target.tls = true;
    else if (!strcmp(name, "--resume")) target.resumes = true;
    else if (!strcmp(name, "--deflate")) target.deflates = true;
    else if (!strcmp(name, "--nats")) target.nats = true;
    else if (!strcmp(name, "--json")) target.json = true;
    else if (!strcmp(name, "--shops")) target.shops = atoi(value), place++;
    else if (!strcmp(name, "--path")) target.path = value, place++;
    else if (!strcmp(name, "--post")) target.postPath = value, place++;
    else if (!strcmp(name, "--mixed")) target.mixes = true;
    else if (!strcmp(name, "--post-port")) add_port(atoi(value)), place++;
    else if (!strcmp(name, "--header")) add_header(value), place++;
    else if (!strcmp(name, "--body")) target.body = text_of(value), place++;
    else if (!strcmp(name, "--expect")) target.expected = value, place++;
    else target.port = atoi(name);
  }
  if (target.headerCount == 0) add_header("");
  if (target.postPortCount == 0) add_port(target.port);
  poller = epoll_create1(0);
  char line[256];
  while (fgets(line, sizeof line, stdin)) obey(line);
  return 0;
}
