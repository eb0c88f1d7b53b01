// Declarations shared by the parts of the load generator.
#pragma once
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { most_ports = 8, most_headers = 64 };

/// The address and the protocol of a server, set once from the command line.
typedef struct {
  int port;
  bool tls;
  bool resumes;
  bool deflates;
  /// Whether the server uses NATS over WebSocket.
  bool nats;
  const char *path;
  const char *postPath;
  /// The ports to which posters send in turn: that of the sockets unless there are others.
  int postPorts[most_ports];
  int postPortCount;
  /// Complete header lines, such as "Authorization: Bearer x", separated by CR LF, or an empty
  /// string. Sockets use the first one; the posters of each port take turns.
  const char *headers[most_headers];
  int headerCount;
  /// The body of every question, and a text that every answer must contain.
  const char *body;
  const char *expected;
  /// Whether a message is wrapped in the JSON of a shop's message.
  bool json;
  /// The number of shops to which posters send, named `bench0` and so on; 0 for the shop `bench`.
  int shops;
  /// Whether the shops are divided among the headers, and each post goes to one of its header's that
  /// is drawn. Otherwise posters take turns.
  bool mixes;
} Target;

extern Target target;

/// A WebSocket and the progress of the frame that it is receiving.
typedef struct {
  int fd;
  SSL *ssl;
  uint64_t left;
  uint8_t head[10];
  int have;
  uint8_t kind;
  uint8_t control[125];
  int controlBytes;
  /// The number of data frames received completely.
  uint64_t frames;
  /// The number of pings answered.
  uint64_t pings;
} Peer;

/// Returns the monotonic clock in nanoseconds.
uint64_t now(void);
/// Prints a reason and ends the program.
_Noreturn void fail(const char *reason);

/// Connects, upgrades and, with NATS, subscribes. Blocks until this is complete.
void peer_open(Peer *peer, unsigned number, bool subscribes);
void peer_block(Peer *peer, bool blocks);
/// Sends a masked frame of at most 65,535 bytes.
void peer_send(Peer *peer, uint8_t opcode, const void *bytes, size_t count);
/// Reads once and answers pings. Returns the number of bytes read, 0 if there are none, and -1 at
/// the end of the connection.
long peer_read(Peer *peer, uint8_t *buffer, size_t size);

/// Prints the port and serves until the process is killed. Uses TLS if a certificate is given.
_Noreturn void serve_least(const char *chain, const char *key);

/// Runs `connections` posters concurrently for some seconds, and prints the rate of their posts.
/// Each poster waits for the response before its next post.
void accept_load(int connections, double seconds);
/// Runs `connections` posters for some seconds, during which posts may be refused and connections
/// end. Prints how many were accepted and refused, the longest times in seconds without an accepted
/// post: of all posters together, and of one of them; and the times in the texts of the accepted posts.
void outage_load(int connections, double seconds);

/// Posts at a given rate.
typedef struct {
  double rate;
  double seconds;
  /// The times in each message, in ascending order, and those of its response.
  uint64_t *posted;
  uint64_t *answered;
  /// When the last post was done, or 0.
  _Atomic uint64_t end;
} Plan;

/// Posts by a plan, in a separate thread. Returns once all posts are sent.
void *post_load(void *plan);

/// Lets clients ask at the same time for some seconds. Each asks its next question after the answer
/// to the last one. Returns the number of answers, and the time of each in nanoseconds.
size_t ask_load(int clients, double seconds, uint64_t **times);

/// Measures libcurl without any other code of the load generator; see curl.c.
int curl_alone(int words, char **word);
