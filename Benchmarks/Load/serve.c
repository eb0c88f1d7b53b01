// A minimal server for the transport benchmarks: system calls and OpenSSL, without any checks.
//
// It supports the command `fan N` and echoes every other message. It relies on the behavior of its
// only client, the load generator: frames arrive in one piece, the key of the upgrade is always the
// same, and no client is slow.
#define _GNU_SOURCE
#include "load.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

typedef struct {
  int fd;
  SSL *ssl;
  bool isOpen;
} Client;

static Client *clients;
static uint32_t clientCount;
static uint8_t fanned[304] = {0x81, 126, 300 >> 8, 300 & 0xFF, '@'};

static void say(Client *client, const void *bytes, size_t count) {
  // A blocking socket accepts all bytes.
  long sent = client->ssl ? SSL_write(client->ssl, bytes, (int)count)
                          : send(client->fd, bytes, count, MSG_NOSIGNAL);
  if (sent != (long)count) fail("write of the least server");
}

static void accept_one(int listener, SSL_CTX *context, int poller) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), on = 1;
  if (fd < 0) fail("accept");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if ((clientCount & (clientCount - 1)) == 0)
    clients = realloc(clients, (clientCount ? 2 * clientCount : 1) * sizeof *clients);
  Client *client = &clients[clientCount];
  *client = (Client){.fd = fd};
  if (context) {
    client->ssl = SSL_new(context);
    SSL_set_fd(client->ssl, fd);
    if (SSL_accept(client->ssl) != 1) fail("TLS of the least server");
  }
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = ++clientCount};
  epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

/// Answers the data received from a client. Returns the number of broadcasts that the client
/// requests.
static unsigned obey_client(Client *client, uint8_t *buffer, size_t size) {
  static const char answer[] =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: Bz3qJYTGdOe8gUSpLosEdiLKDrk=\r\n\r\n";
  long got = client->ssl ? SSL_read(client->ssl, buffer, (int)size)
                         : recv(client->fd, buffer, size, 0);
  if (got <= 0) exit(0);
  if (!client->isOpen) {
    client->isOpen = true;
    say(client, answer, sizeof answer - 1);
    return 0;
  }
  // The mask consists of zeros, so it is removed without unmasking the payload.
  size_t start = (buffer[1] & 0x7F) == 126 ? 4 : 2;
  unsigned messages = 0;
  buffer[got] = 0;
  if (sscanf((char *)buffer + start + 4, "fan %u", &messages) == 1) return messages;
  buffer[1] &= 0x7F;
  memmove(buffer + start, buffer + start + 4, (size_t)got - start - 4);
  say(client, buffer, (size_t)got - 4);
  return 0;
}

/// Returns a context with the same settings as Holdfast's server: tickets, ciphers, and no
/// certificate chain other than that of the file.
static SSL_CTX *secure(const char *chain, const char *key) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_ciphersuites(
      context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  if (SSL_CTX_use_certificate_chain_file(context, chain) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    fail("certificate");
  return context;
}

void serve_least(const char *chain, const char *key) {
  static uint8_t buffer[65537];
  SSL_CTX *context = *chain ? secure(chain, key) : NULL;
  memset(fanned + 5, 'f', sizeof fanned - 5);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7F000001)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, (void *)&address, size) || listen(listener, 4096)) fail("listen");
  getsockname(listener, (void *)&address, &size);
  int poller = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
  printf("%d\n", ntohs(address.sin_port));
  for (unsigned left = 0;;) {
    struct epoll_event ready[256];
    int count = epoll_wait(poller, ready, 256, left > 0 ? 0 : -1);
    for (int place = 0; place < count; place++) {
      uint32_t number = ready[place].data.u32;
      if (number == 0) accept_one(listener, context, poller);
      else left += obey_client(&clients[number - 1], buffer, sizeof buffer - 1);
    }
    // As in the other servers, each turn of the loop sends one message to every client.
    if (left == 0) continue;
    left--;
    for (uint32_t number = 0; number < clientCount; number++)
      say(&clients[number], fanned, sizeof fanned);
  }
}
