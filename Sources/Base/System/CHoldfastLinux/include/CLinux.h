#pragma once
// Declarations that the Glibc module of the toolchain does not export. On systems other than Linux,
// this header is empty.
#if defined(__linux__)
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

// The C library declares these functions only for _GNU_SOURCE.
int setns(int descriptor, int kind);
int pipe2(int ends[2], int flags);
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
#endif
