#pragma once
// What the Glibc module of the toolchain does not export. Empty where there is no Linux.
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

// Declared by the C library for _GNU_SOURCE only.
int setns(int descriptor, int kind);
int pipe2(int ends[2], int flags);
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
#endif
