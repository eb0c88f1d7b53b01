// Makes up for what the thread sanitizer does not see on Linux. In a process without it, the wrapped
// functions behave as before.
//
// Swift's `Mutex`: the fast path is an atomic that is compiled into each client, so the sanitizer
// instruments it. Under contention the lock is taken inside libswiftSynchronization, which is not
// instrumented, and the data that the mutex guards then appears unguarded.
//
// `sigsuspend`, in which libdispatch parks the main thread: the sanitizer runs the handler of a signal
// when its thread calls a function that it intercepts, and this one it does not. A signal that came
// to the main thread was never handled.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock(uint32_t thread, SELF) __asm__(LOCK);
SWIFT void unlock(SELF) __asm__(UNLOCK);

SWIFT void lock(uint32_t thread, SELF) {
  SWIFT void (*next)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK);
  next(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT void unlock(SELF) {
  SWIFT void (*next)(SELF) = dlsym(RTLD_NEXT, UNLOCK);
  if (__tsan_release) __tsan_release(self);
  next(self);
}

int sigsuspend(const sigset_t *mask) { return ppoll(NULL, 0, NULL, mask); }
