// A single WebSocket: connecting, and sending and receiving frames.
#define _GNU_SOURCE
#include "load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

static SSL_CTX *context;
static SSL_SESSION *session;

uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void fail(const char *reason) {
  printf("failed %s: %s\n", reason, strerror(errno));
  exit(1);
}

static long read_some(Peer *peer, void *bytes, size_t count) {
  if (!peer->ssl) return recv(peer->fd, bytes, count, 0);
  int got = SSL_read(peer->ssl, bytes, (int)count);
  if (got > 0) return got;
  errno = SSL_get_error(peer->ssl, got) == SSL_ERROR_WANT_READ ? EAGAIN : EPROTO;
  return -1;
}

static void write_all(Peer *peer, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    long sent = peer->ssl ? SSL_write(peer->ssl, bytes, (int)count)
                          : send(peer->fd, bytes, count, MSG_NOSIGNAL);
    if (sent <= 0 && errno == EAGAIN) continue;
    if (sent <= 0) fail("write");
    bytes += sent;
    count -= (size_t)sent;
  }
}

void peer_block(Peer *peer, bool blocks) {
  int flags = fcntl(peer->fd, F_GETFL);
  fcntl(peer->fd, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

void peer_send(Peer *peer, uint8_t opcode, const void *bytes, size_t count) {
  uint8_t frame[70000] = {opcode};
  size_t start = 2;
  if (count < 126) {
    frame[1] = 0x80 | (uint8_t)count;
  } else {
    frame[1] = 0x80 | 126;
    frame[2] = (uint8_t)(count >> 8);
    frame[3] = (uint8_t)count;
    start = 4;
  }
  // A mask of zeros is valid. Masking would take time, and it is the other end that is measured.
  memcpy(frame + start + 4, bytes, count);
  write_all(peer, frame, start + 4 + count);
}

static void finish_frame(Peer *peer) {
  if (peer->kind == 0x9) {
    peer->pings++;
    peer_send(peer, 0x8A, peer->control, (size_t)peer->controlBytes);
  }
  if (peer->kind == 0x8) fail("the server closed a socket");
  if (peer->kind < 0x8) peer->frames++;
  peer->have = 0;
}

/// Consumes bytes until the frame's head is complete. Returns the number of consumed bytes.
static size_t take_head(Peer *peer, const uint8_t *bytes, size_t count) {
  size_t taken = 0;
  while (taken < count) {
    peer->head[peer->have++] = bytes[taken++];
    uint8_t size = peer->have > 1 ? peer->head[1] & 0x7F : 0;
    int whole = size == 127 ? 10 : size == 126 ? 4 : 2;
    if (peer->have < whole) continue;
    peer->left = size < 126 ? size : 0;
    for (int place = 2; place < whole; place++) peer->left = peer->left << 8 | peer->head[place];
    peer->kind = peer->head[0] & 0x0F;
    peer->controlBytes = 0;
    peer->have = -1;
    if (peer->left == 0) finish_frame(peer);
    break;
  }
  return taken;
}

static void feed(Peer *peer, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    size_t taken;
    if (peer->have >= 0) {
      taken = take_head(peer, bytes, count);
    } else {
      taken = count < peer->left ? count : (size_t)peer->left;
      if (peer->kind >= 0x8) {
        memcpy(peer->control + peer->controlBytes, bytes, taken);
        peer->controlBytes += (int)taken;
      }
      peer->left -= taken;
      if (peer->left == 0) finish_frame(peer);
    }
    bytes += taken;
    count -= taken;
  }
}

long peer_read(Peer *peer, uint8_t *buffer, size_t size) {
  long got = read_some(peer, buffer, size);
  if (got < 0) return errno == EAGAIN ? 0 : -1;
  if (got == 0) return -1;
  feed(peer, buffer, (size_t)got);
  if (target.nats && memmem(buffer, (size_t)got, "PING\r\n", 6)) {
    peer->pings++;
    peer_send(peer, 0x82, "PONG\r\n", 6);
  }
  return got;
}

static void start_tls(Peer *peer) {
  if (!context) {
    context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
  }
  peer->ssl = SSL_new(context);
  SSL_set_fd(peer->ssl, peer->fd);
  if (target.resumes && session) SSL_set_session(peer->ssl, session);
  if (SSL_connect(peer->ssl) != 1) fail("TLS");
  if (target.resumes && session && !SSL_session_reused(peer->ssl)) fail("not resumed");
}

static void connect_socket(Peer *peer, unsigned number) {
  peer->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (peer->fd < 0) fail("socket");
  int on = 1;
  setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A server that has no free descriptors leaves new connections in its backlog.
  struct timeval patience = {10, 0};
  setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  struct sockaddr_in address = {.sin_family = AF_INET};
  // A source address has about 28,000 ports.
  if (number >= 20000) {
    setsockopt(peer->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    address.sin_addr.s_addr = htonl(0x7F000001 + number / 20000);
    if (bind(peer->fd, (void *)&address, sizeof address)) fail("bind");
  }
  address.sin_addr.s_addr = htonl(0x7F000001);
  address.sin_port = htons((uint16_t)target.port);
  if (connect(peer->fd, (void *)&address, sizeof address)) fail("connect");
}

static void upgrade(Peer *peer) {
  char text[16384];
  int count = snprintf(
      text, sizeof text,
      "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\nSec-WebSocket-Version: 13\r\n%s%s%s\r\n",
      target.path, target.port,
      target.deflates ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "", target.headers[0],
      *target.headers[0] ? "\r\n" : "");
  write_all(peer, (uint8_t *)text, (size_t)count);
  size_t have = 0;
  char *end = NULL;
  while (!end) {
    long got = read_some(peer, text + have, sizeof text - 1 - have);
    if (got < 0 && errno == EAGAIN) fail("upgrade has no answer in 10 s");
    if (got <= 0) fail("upgrade");
    have += (size_t)got;
    text[have] = 0;
    end = strstr(text, "\r\n\r\n");
  }
  if (strncmp(text, "HTTP/1.1 101", 12)) {
    printf("failed upgrade: %.*s\n", (int)strcspn(text, "\r"), text);
    exit(1);
  }
  if (target.deflates && !strcasestr(text, "permessage-deflate")) fail("no deflate was agreed to");
  feed(peer, (uint8_t *)end + 4, have - (size_t)(end + 4 - text));
}

/// Sends a compressed message of 280 bytes and waits for its echo, so that both ends create their
/// streams.
static void deflate_once(Peer *peer) {
  uint8_t message[280], packed[400], buffer[4096];
  for (size_t place = 0; place < sizeof message; place++) message[place] = "rye and wheat "[place % 14];
  z_stream stream = {.next_in = message, .avail_in = sizeof message, .next_out = packed,
                     .avail_out = sizeof packed};
  deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  deflate(&stream, Z_SYNC_FLUSH);
  // The empty block at the end is omitted (RFC 7692 section 7.2.1).
  peer_send(peer, 0xC1, packed, stream.total_out - 4);
  deflateEnd(&stream);
  uint64_t before = peer->frames;
  while (peer->frames == before)
    if (peer_read(peer, buffer, sizeof buffer) < 0) fail("no echo");
}

void peer_open(Peer *peer, unsigned number, bool subscribes) {
  memset(peer, 0, sizeof *peer);
  connect_socket(peer, number);
  if (target.tls) start_tls(peer);
  upgrade(peer);
  if (target.resumes && !session) session = SSL_get1_session(peer->ssl);
  if (target.nats && subscribes) {
    const char *words = "CONNECT {\"verbose\":false,\"headers\":false}\r\nSUB bench 1\r\n";
    peer_send(peer, 0x82, words, strlen(words));
  }
  if (target.deflates) deflate_once(peer);
}
