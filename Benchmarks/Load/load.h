// What the parts of the load generator share.
#pragma once
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How to reach a server and what it speaks; set once by the words of the command line.
typedef struct {
  int port;
  bool tls;
  bool resumes;
  bool deflates;
  /// NATS over WebSocket.
  bool nats;
  const char *path;
  const char *postPath;
  /// A whole line, such as "Authorization: Bearer x", or empty.
  const char *header;
  /// The message is wrapped into the JSON of a shop's message.
  bool json;
  /// Over how many shops posters spread, `bench0` and so on; 0 for `bench` alone.
  int shops;
} Target;

extern Target target;

/// One WebSocket and how far the frame is that it is in.
typedef struct {
  int fd;
  SSL *ssl;
  uint64_t left;
  uint8_t head[10];
  int have;
  uint8_t kind;
  uint8_t control[125];
  int controlBytes;
  /// Data frames that came whole.
  uint64_t frames;
  /// Pings that were answered.
  uint64_t pings;
} Peer;

/// Nanoseconds of the monotonic clock.
uint64_t now(void);
/// Ends the program with a reason.
_Noreturn void fail(const char *reason);

/// Connects and upgrades, and at NATS subscribes; blocking.
void peer_open(Peer *peer, unsigned number, bool subscribes);
void peer_block(Peer *peer, bool blocks);
/// Sends a masked frame of at most 65,535 bytes.
void peer_send(Peer *peer, uint8_t opcode, const void *bytes, size_t count);
/// Reads once, answers pings; the bytes read, 0 when none are there, -1 when it is over.
long peer_read(Peer *peer, uint8_t *buffer, size_t size);

/// Serves until killed, with TLS where a certificate is named; prints its port.
_Noreturn void serve_least(const char *chain, const char *key);

/// `CONNECTIONS` posters at once, each waiting for its answer, for some seconds; prints the rate.
void accept_load(int connections, double seconds);
/// Posts at a rate beside whoever calls; returns when done.
void *post_load(void *rate_and_seconds);

/// Does without all of this what libcurl alone can; see curl.c.
int curl_alone(int words, char **word);
