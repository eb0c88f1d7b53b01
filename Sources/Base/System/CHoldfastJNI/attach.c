#include "holdfast_jni.h"

#include <pthread.h>
#include <stddef.h>

static pthread_key_t attached;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int has_key;

// Runs when a thread ends that holdfast_jni_attach has attached. Android ends the process if a thread
// is detached twice, so a thread that the app itself has detached is left alone.
static void detach(void *value) {
  HJNIMachine *machine = value;
  void *environment = NULL;
  if ((*machine)->GetEnv(machine, &environment, HJNI_VERSION) == HJNI_OK) {
    (*machine)->DetachCurrentThread(machine);
  }
}

static void make_key(void) { has_key = pthread_key_create(&attached, detach) == 0; }

HJNIEnvironment *holdfast_jni_attach(HJNIMachine *machine) {
  void *environment = NULL;
  int32_t status = (*machine)->GetEnv(machine, &environment, HJNI_VERSION);
  if (status == HJNI_OK) return environment;
  // Without a key nothing would detach the thread, and Android ends the process when it ends.
  pthread_once(&once, make_key);
  if (status != HJNI_DETACHED || !has_key) return NULL;
  HJNIAttachment attachment = {HJNI_VERSION, "Holdfast", NULL};
  if ((*machine)->AttachCurrentThreadAsDaemon(machine, &environment, &attachment) != HJNI_OK) {
    return NULL;
  }
  pthread_setspecific(attached, machine);
  return environment;
}
