// Measures the cost of libcurl alone: connecting, upgrading and reading messages.
//
//   HoldfastLoadGenerator curl URL COUNT [AUTHORITIES] WORD
//
// WORD is one of: connect (the median time of a connection, in microseconds), fresh (the same
// without a session to resume), hold (the memory of an idle connection, in bytes), receive (the
// rate of messages of 304 bytes per second, which are read but not parsed).
#define _GNU_SOURCE
#include "load.h"
#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// `most` is the number of sockets that share a handle in Holdfast's client, since libcurl searches
/// all of them in each read. `warm` is the number of connections that are not measured.
enum { most = 32, warm = 20 };

static const char *url, *authorities;
static CURLSH *share;
static CURLM *multi;
static char bytes[65536];

static void demand(int result, const char *what) {
  if (result) fail(what);
}

static CURL *dial(void) {
  CURL *easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_SHARE, share);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)sizeof bytes);
  if (authorities) curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
  demand(curl_multi_add_handle(multi, easy), "libcurl's handle");
  for (int running = 1, left;;) {
    demand(curl_multi_perform(multi, &running), "libcurl");
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (message) {
      demand(message->data.result, "dial");
      return easy;
    }
    curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
}

/// Reads the available bytes and waits until there are any. Returns their number.
static size_t take(CURL *easy, size_t start) {
  curl_socket_t descriptor;
  curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor);
  for (size_t count;;) {
    CURLcode result = curl_easy_recv(easy, bytes + start, sizeof bytes - start - 1, &count);
    if (result == CURLE_OK && count > 0) return count;
    if (result != CURLE_AGAIN) fail("read");
    poll(&(struct pollfd){.fd = descriptor, .events = POLLIN}, 1, -1);
  }
}

static void upgrade(CURL *easy) {
  static const char request[] =
      "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  size_t count = 0;
  demand(curl_easy_send(easy, request, sizeof request - 1, &count), "write");
  for (size_t have = 0; bytes[have] = 0, !strstr(bytes, "\r\n\r\n");) have += take(easy, have);
}

static void receive(CURL *easy, long messages) {
  char frame[64] = {(char)0x81};
  int length = snprintf(frame + 6, sizeof frame - 6, "push %ld", messages);
  frame[1] = (char)(0x80 | length);
  size_t count;
  uint64_t start = now();
  demand(curl_easy_send(easy, frame, (size_t)(6 + length), &count), "write");
  for (long left = messages * 304; left > 0;) left -= (long)take(easy, 0);
  printf("%f\n", (double)messages * 1e9 / (double)(now() - start));
}

static double memory(void) {
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  long kilobytes = 0;
  for (char line[256]; file && fgets(line, sizeof line, file);)
    if (sscanf(line, "Anonymous: %ld", &kilobytes) == 1) break;
  if (file) fclose(file);
  return (double)kilobytes * 1024;
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

int curl_alone(int words, char **word) {
  if (words < 5 || strncmp(word[2], "ws", 2)) fail("use: curl URL COUNT [AUTHORITIES] WORD");
  // libcurl 7.88 does not support the schemes ws and wss.
  char address[256];
  snprintf(address, sizeof address, "http%s", word[2] + strlen("ws"));
  url = address;
  long count = atol(word[3]);
  const char *what = word[words - 1];
  authorities = words > 5 ? word[4] : NULL;
  bool holds = !strcmp(what, "hold"), receives = !strcmp(what, "receive");
  demand(curl_global_init(CURL_GLOBAL_DEFAULT), "libcurl");
  long dials = receives ? 1 : count + warm;
  double *times = calloc((size_t)dials, sizeof *times), before = 0;
  for (long number = 0; number < dials; number++) {
    if (!share || !strcmp(what, "fresh")) {
      share = curl_share_init();
      curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
      curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    }
    if (number % most == 0) multi = curl_multi_init();
    if (number == warm) before = memory();
    uint64_t start = now();
    CURL *easy = dial();
    upgrade(easy);
    times[number] = (double)(now() - start) / 1000;
    if (receives) return receive(easy, count), 0;
    if (holds) continue;
    curl_multi_remove_handle(multi, easy);
    curl_easy_cleanup(easy);
  }
  if (holds) return printf("%f\n", (memory() - before) / (double)count), 0;
  qsort(times + warm, (size_t)count, sizeof *times, by_size);
  printf("%f\n", times[warm + count / 2]);
  return 0;
}
