// Posts over HTTP, or with NATS as acknowledged publications of JetStream over a WebSocket.
#define _GNU_SOURCE
#include "load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong accepted;
static uint64_t stop_at;

/// Returns the place of a poster's header.
static int header_of(int number) { return number / target.postPortCount % target.headerCount; }

/// Writes a message of 200 bytes that contains a time, and a shop if the target has shops. Returns
/// its length.
static int message(char *text, size_t size, int number, unsigned long long at) {
  static _Thread_local unsigned seed;
  char pad[160], shop[32] = "bench";
  memset(pad, 'r', sizeof pad - 1);
  pad[sizeof pad - 1] = 0;
  if (target.mixes) {
    if (!seed) seed = (unsigned)number + 1;
    int share = target.shops / target.headerCount;
    number = header_of(number) * share + rand_r(&seed) % share;
  }
  if (target.shops) snprintf(shop, sizeof shop, "bench%d", number % target.shops);
  if (!target.json) return snprintf(text, size, "t=%020llu;%s", at, pad);
  return snprintf(text, size, "{\"shop_id\":\"%s\",\"message\":\"t=%020llu;%s\"}", shop, at, pad);
}

/// Connects to the server of a poster. Returns -1 if it does not accept.
static int http_dial(int number) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  uint16_t port = (uint16_t)target.postPorts[number % target.postPortCount];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(0x7F000001);
  if (connect(fd, (void *)&address, sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

static int http_open(int number) {
  int fd = http_dial(number);
  if (fd < 0) fail("connect of a poster");
  return fd;
}

/// Reads a response of a known length. Returns its body, or NULL if the connection ends.
static const char *http_read(int fd, char *text, size_t size) {
  size_t have = 0;
  for (;;) {
    long got = recv(fd, text + have, size - 1 - have, 0);
    if (got <= 0) return NULL;
    have += (size_t)got;
    text[have] = 0;
    char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
    if (!end) continue;
    size_t whole = (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 15, 0, 10) : 0);
    if (have >= whole) return end + 4;
  }
}

static bool is_accepted(const char *response) { return !strncmp(response, "HTTP/1.1 2", 10); }

/// Reads a response, which must have a status 2xx. Returns its body.
static const char *http_answer(int fd, char *text, size_t size) {
  const char *body = http_read(fd, text, size);
  if (!body) fail("answer to a poster");
  if (is_accepted(text)) return body;
  printf("failed post: %.*s\n", (int)strcspn(text, "\r"), text);
  exit(1);
}

/// Sends a post. Returns whether the connection took it.
static bool http_send(int fd, int number, uint64_t at) {
  char body[1024], text[4096];
  int bytes = message(body, sizeof body, number, at);
  const char *header = target.headers[header_of(number)];
  int count = snprintf(
      text, sizeof text, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n"
      "Content-Type: %s\r\n%s%s\r\n%s", target.postPath, bytes,
      target.json ? "application/json" : "text/plain", header, *header ? "\r\n" : "", body);
  return send(fd, text, (size_t)count, MSG_NOSIGNAL) == count;
}

static void http_post(int fd, int number, uint64_t at) {
  char text[4096];
  if (!http_send(fd, number, at)) fail("write of a poster");
  http_answer(fd, text, sizeof text);
}

/// Publishes on the subject of a stream. If `waits` is true, waits until the message is reported as
/// stored.
static void nats_post(Peer *peer, bool waits, uint64_t at) {
  char body[1024], text[2048];
  int bytes = message(body, sizeof body, 0, at);
  int count = waits ? snprintf(text, sizeof text, "PUB bench inbox.%d %d\r\n%s\r\n", peer->fd, bytes, body)
                    : snprintf(text, sizeof text, "PUB bench %d\r\n%s\r\n", bytes, body);
  peer_send(peer, 0x82, text, (size_t)count);
  uint8_t buffer[8192];
  size_t have = 0;
  // A reply may be divided between two reads.
  while (waits) {
    if (have == sizeof buffer) fail("answer to a publisher is too long");
    long got = peer_read(peer, buffer + have, sizeof buffer - have);
    if (got < 0) fail("answer to a publisher");
    if (got == 0) fail("a publication has no answer in 10 s");
    have += (size_t)got;
    if (memmem(buffer, have, "\"error\"", 7)) fail("a publication was refused");
    if (memmem(buffer, have, "\"seq\"", 5)) return;
  }
}

static Peer nats_open(bool waits) {
  Peer peer;
  peer_open(&peer, 0, false);
  char words[128];
  snprintf(words, sizeof words, waits ? "CONNECT {\"verbose\":false}\r\nSUB inbox.%d 1\r\n"
                                      : "CONNECT {\"verbose\":false}\r\n", peer.fd);
  peer_send(&peer, 0x82, words, strlen(words));
  return peer;
}

static void *poster(void *number) {
  Peer peer;
  int fd = -1;
  if (target.nats) peer = nats_open(true);
  else fd = http_open((int)(intptr_t)number);
  while (now() < stop_at) {
    if (target.nats) nats_post(&peer, true, now());
    else http_post(fd, (int)(intptr_t)number, now());
    atomic_fetch_add(&accepted, 1);
  }
  return NULL;
}

/// Runs posters until the time is over. Returns when they began.
static uint64_t run(int connections, double seconds, void *(*post)(void *)) {
  pthread_t *threads = calloc((size_t)connections, sizeof *threads);
  uint64_t start = now();
  accepted = 0;
  stop_at = start + (uint64_t)(seconds * 1e9);
  for (int place = 0; place < connections; place++) {
    // Since the threads start one after another, their connections do not fill the backlog.
    if (pthread_create(&threads[place], NULL, post, (void *)(intptr_t)place)) fail("thread");
  }
  for (int place = 0; place < connections; place++) pthread_join(threads[place], NULL);
  free(threads);
  return start;
}

void accept_load(int connections, double seconds) {
  uint64_t start = run(connections, seconds, poster);
  printf("accepted %.1f\n", (double)accepted * 1e9 / (double)(now() - start));
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/// The time of the newest accepted post, and the longest times without one.
static uint64_t newest, gap, longest;
/// The times in the texts of the accepted posts.
static uint64_t *texts;
static size_t text_room;
static atomic_ulong refused;

/// Takes an accepted post with the time in its text. `last` is the time of the accepted post before,
/// of the same poster. Returns the present time.
static uint64_t take_accepted(uint64_t sent, uint64_t last) {
  pthread_mutex_lock(&lock);
  if (accepted == text_room) texts = realloc(texts, (text_room += 65536) * sizeof *texts);
  texts[accepted++] = sent;
  uint64_t at = now();
  if (at - newest > gap) gap = at - newest;
  if (at - last > longest) longest = at - last;
  newest = at;
  pthread_mutex_unlock(&lock);
  return at;
}

static void *patient_poster(void *word) {
  int number = (int)(intptr_t)word, fd = -1;
  char text[4096];
  uint64_t last = now();
  while (now() < stop_at) {
    if (fd < 0) fd = http_dial(number);
    uint64_t sent = now();
    bool isRead = fd >= 0 && http_send(fd, number, sent) && http_read(fd, text, sizeof text);
    if (isRead && is_accepted(text)) {
      last = take_accepted(sent, last);
      continue;
    }
    atomic_fetch_add(&refused, 1);
    if (!isRead && fd >= 0) close(fd), fd = -1;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  // A poster whose last posts were refused has waited since the one before.
  pthread_mutex_lock(&lock);
  if (stop_at > last && stop_at - last > longest) longest = stop_at - last;
  pthread_mutex_unlock(&lock);
  close(fd);
  return NULL;
}

void outage_load(int connections, double seconds) {
  gap = longest = refused = 0;
  newest = now();
  run(connections, seconds, patient_poster);
  if (stop_at > newest && stop_at - newest > gap) gap = stop_at - newest;
  printf("outage %lu %lu %.4f %.4f", accepted, refused, (double)gap / 1e9, (double)longest / 1e9);
  for (size_t place = 0; place < accepted; place++) printf(" %lu", texts[place]);
  printf("\n");
}

/// A client that asks one question after the other, and the time that each answer took.
typedef struct {
  pthread_t thread;
  uint64_t *times;
  size_t count;
  size_t room;
} Asker;

static void *asker(void *word) {
  Asker *self = word;
  size_t size = 1 << 20;
  char *text = malloc(size), *request = malloc(size);
  int fd = http_open(0);
  int count = snprintf(
      request, size, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %zu\r\n"
      "Content-Type: application/json\r\n%s\r\n\r\n%s", target.postPath, target.port,
      strlen(target.body), target.headers[0], target.body);
  while (now() < stop_at) {
    uint64_t start = now();
    if (send(fd, request, (size_t)count, MSG_NOSIGNAL) != count) fail("write of a client");
    const char *body = http_answer(fd, text, size);
    if (self->count == self->room)
      self->times = realloc(self->times, (self->room += 65536) * sizeof *self->times);
    self->times[self->count++] = now() - start;
    if (!strstr(body, target.expected)) fail(body);
  }
  close(fd);
  free(text);
  free(request);
  return NULL;
}

size_t ask_load(int clients, double seconds, uint64_t **times) {
  Asker *askers = calloc((size_t)clients, sizeof *askers);
  stop_at = now() + (uint64_t)(seconds * 1e9);
  for (int place = 0; place < clients; place++)
    if (pthread_create(&askers[place].thread, NULL, asker, &askers[place])) fail("thread");
  size_t count = 0;
  *times = NULL;
  for (int place = 0; place < clients; place++) {
    Asker *one = &askers[place];
    pthread_join(one->thread, NULL);
    *times = realloc(*times, (count + one->count + 1) * sizeof **times);
    if (one->count) memcpy(*times + count, one->times, one->count * sizeof **times);
    count += one->count;
    free(one->times);
  }
  free(askers);
  return count;
}

void *post_load(void *word) {
  Plan *plan = word;
  Peer peer;
  int fd = -1;
  if (target.nats) peer = nats_open(false);
  else fd = http_open(0);
  uint64_t start = now(), count = (uint64_t)(plan->rate * plan->seconds);
  for (uint64_t number = 0; number < count; number++) {
    uint64_t due = start + (uint64_t)((double)number * 1e9 / plan->rate), at = now();
    if (due > at) {
      struct timespec wait = {(time_t)((due - at) / 1000000000), (long)((due - at) % 1000000000)};
      nanosleep(&wait, NULL);
    }
    plan->posted[number] = now();
    if (target.nats) nats_post(&peer, false, plan->posted[number]);
    else http_post(fd, 0, plan->posted[number]);
    plan->answered[number] = now();
  }
  plan->end = now();
  return NULL;
}
