// What the checks need of the C library of Apple's platforms and of Android, from their manual pages.
// Values are placeholders: nothing is run.
#pragma once
#include <sys/types.h>

typedef unsigned short mode_t;
typedef int pid_t;
typedef int dev_t;
typedef unsigned long long ino_t;
typedef unsigned int socklen_t;
typedef unsigned char sa_family_t;
typedef unsigned long nfds_t;
typedef long ssize_t;
typedef unsigned long size_t;

struct timespec { long tv_sec; long tv_nsec; };
struct timeval { long tv_sec; int tv_usec; };
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; };

struct stat { dev_t st_dev; mode_t st_mode; ino_t st_ino; off_t st_size; };
struct pollfd { int fd; short events; short revents; };
struct linger { int l_onoff; int l_linger; };
struct statvfs { unsigned long f_bsize, f_frsize; unsigned f_blocks, f_bfree, f_bavail; };
struct in_addr { unsigned int s_addr; };
#ifdef __APPLE__
struct sockaddr { unsigned char sa_len; sa_family_t sa_family; char sa_data[14]; };
struct sockaddr_in {
  unsigned char sin_len; sa_family_t sin_family; unsigned short sin_port; struct in_addr sin_addr;
  char sin_zero[8];
};
#else
struct sockaddr { sa_family_t sa_family; char sa_data[14]; };
struct sockaddr_in {
  sa_family_t sin_family; unsigned short sin_port; struct in_addr sin_addr; char sin_zero[8];
};
#endif

#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 0x200
#define O_EXCL 0x800
#define O_TRUNC 0x400
#define O_APPEND 8
#define O_CLOEXEC 0x1000000
#define O_NOFOLLOW 0x100
#define O_NONBLOCK 4
#define O_DIRECTORY 0x100000
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define FD_CLOEXEC 1
#define SEEK_SET 0
#define SEEK_END 2
#define R_OK 4
#define W_OK 2
#define F_OK 0
#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
#define PATH_MAX 1024
#define POLLIN 1
#define POLLOUT 4
#define POLLERR 8
#define POLLHUP 16
#define POLLNVAL 32
#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EBADF 9
#define ENOMEM 12
#define EACCES 13
#define EEXIST 17
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENFILE 23
#define EMFILE 24
#define EFBIG 27
#define ENOSPC 28
#define EROFS 30
#define EPIPE 32
#define EAGAIN 35
#define EWOULDBLOCK 35
#define EINPROGRESS 36
#define EADDRINUSE 48
#define ECONNRESET 54
#define ENOTCONN 57
#define ECONNREFUSED 61
#define ELOOP 62
#define ENAMETOOLONG 63
#define EDQUOT 69
#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 30
#define SOL_SOCKET 0xffff
#define SO_REUSEADDR 4
#define SO_REUSEPORT 0x200
#define SO_ERROR 0x1007
#define SO_LINGER 0x80
#define SO_RCVBUF 0x1002
#define SO_SNDBUF 0x1001
#define SO_SNDTIMEO 0x1005
#define SO_RCVTIMEO 0x1006
#define SHUT_RD 0
#define SHUT_WR 1
#define SHUT_RDWR 2
#define IPPROTO_TCP 6
#define TCP_NODELAY 1
#define INADDR_LOOPBACK 0x7f000001u
#define SIGPIPE 13
#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2

int open(const char *path, int flags, ...);
int close(int descriptor);
ssize_t read(int descriptor, void *bytes, size_t count);
ssize_t write(int descriptor, const void *bytes, size_t count);
ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset);
off_t lseek(int descriptor, off_t offset, int whence);
int fstat(int descriptor, struct stat *found);
int stat(const char *path, struct stat *found);
int lstat(const char *path, struct stat *found);
int statvfs(const char *path, struct statvfs *found);
int access(const char *path, int mode);
int chmod(const char *path, mode_t mode);
int fchmod(int descriptor, mode_t mode);
int mkdir(const char *path, mode_t mode);
int rename(const char *from, const char *to);
int link(const char *from, const char *to);
int unlink(const char *path);
ssize_t readlink(const char *path, char *bytes, size_t count);
int ftruncate(int descriptor, off_t size);
int fsync(int descriptor);
int flock(int descriptor, int operation);
int isatty(int descriptor);
int pipe(int ends[2]);
int poll(struct pollfd *watched, nfds_t count, int timeout);
pid_t getpid(void);
char *strerror(int code);
char *strstr(const char *text, const char *part);
void exit(int status) __attribute__((noreturn));
int getpagesize(void);
int mprotect(void *bytes, size_t count, int protection);
int mkfifo(const char *path, mode_t mode);
unsigned int geteuid(void);
typedef struct file FILE;
int fflush(FILE *stream);
int inet_pton(int family, const char *text, void *address);
int socket(int family, int type, int protocol);
int bind(int socket, const struct sockaddr *address, socklen_t size);
int connect(int socket, const struct sockaddr *address, socklen_t size);
int listen(int socket, int backlog);
int accept(int socket, struct sockaddr *address, socklen_t *size);
int shutdown(int socket, int how);
int getsockopt(int socket, int level, int name, void *value, socklen_t *size);
int setsockopt(int socket, int level, int name, const void *value, socklen_t size);
int getsockname(int socket, struct sockaddr *address, socklen_t *size);
int getpeername(int socket, struct sockaddr *address, socklen_t *size);
ssize_t recv(int socket, void *bytes, size_t count, int flags);
ssize_t send(int socket, const void *bytes, size_t count, int flags);

#ifdef __APPLE__
#define SO_NOSIGPIPE 0x1022
#define SOCK_STREAM 1
#define MSG_NOSIGNAL 0x80000
typedef enum {
  CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 6, CLOCK_MONOTONIC_RAW = 4, CLOCK_UPTIME_RAW = 8
} clockid_t;
#else
#define SOCK_STREAM 1
#define SOCK_CLOEXEC 02000000
#define MSG_NOSIGNAL 0x4000
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_BOOTTIME 7
typedef int clockid_t;
#endif
int clock_gettime(clockid_t clock, struct timespec *time);
