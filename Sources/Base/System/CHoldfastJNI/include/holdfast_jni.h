#pragma once
// The parts of the Java Native Interface that HoldfastJNI uses, so that no build needs a JDK.
//
// The JNI specification fixes the order of both tables. What is not used is a row of reserved slots;
// a test compares each offset with the `jni.h` of a JDK. All names have a prefix of their own,
// because an app may also import `jni.h`.
#include <stdint.h>

#ifndef __clang__
#define _Nonnull
#define _Nullable
#endif

// A reference to a Java object: local to a thread, or global.
typedef void *HJNIObject;
// A method of a class. It is valid while the class is loaded.
typedef struct HJNIMethodPart *HJNIMethod;

// The JNI specification's constants.
enum { HJNI_VERSION = 0x00010006, HJNI_OK = 0, HJNI_DETACHED = -2 };

// An argument of a call.
typedef union {
  uint8_t z;
  int32_t i;
  int64_t j;
  double d;
  HJNIObject _Nullable l;
} HJNIValue;

// A method that is declared `native` in Java, and its implementation.
typedef struct {
  const char *_Nonnull name;
  const char *_Nonnull signature;
  void *_Nonnull function;
} HJNINative;

// The functions of a thread, which must not be used by another thread.
typedef const struct HJNIFunctions *_Nonnull HJNIEnvironment;
// The functions of the virtual machine, which any thread can use.
typedef const struct HJNIInvocation *_Nonnull HJNIMachine;

// JNINativeInterface
struct HJNIFunctions {
  void *_Nullable reserved0[6];
  HJNIObject _Nullable (*_Nonnull FindClass)(HJNIEnvironment *_Nonnull, const char *_Nonnull);
  void *_Nullable reserved7[6];
  int32_t (*_Nonnull Throw)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull);
  void *_Nullable reserved14;
  HJNIObject _Nullable (*_Nonnull ExceptionOccurred)(HJNIEnvironment *_Nonnull);
  void *_Nullable reserved16;
  void (*_Nonnull ExceptionClear)(HJNIEnvironment *_Nonnull);
  void *_Nullable reserved18;
  int32_t (*_Nonnull PushLocalFrame)(HJNIEnvironment *_Nonnull, int32_t);
  HJNIObject _Nullable (*_Nonnull PopLocalFrame)(HJNIEnvironment *_Nonnull, HJNIObject _Nullable);
  HJNIObject _Nullable (*_Nonnull NewGlobalRef)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull);
  void (*_Nonnull DeleteGlobalRef)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull);
  void (*_Nonnull DeleteLocalRef)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull);
  void *_Nullable reserved24[6];
  HJNIObject _Nullable (*_Nonnull NewObjectA)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull,
                                              HJNIMethod _Nonnull, const HJNIValue *_Nonnull);
  HJNIObject _Nonnull (*_Nonnull GetObjectClass)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull);
  uint8_t (*_Nonnull IsInstanceOf)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull,
                                   HJNIObject _Nonnull);
  HJNIMethod _Nullable (*_Nonnull GetMethodID)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull,
                                               const char *_Nonnull, const char *_Nonnull);
  void *_Nullable reserved34[2];
  HJNIObject _Nullable (*_Nonnull CallObjectMethodA)(HJNIEnvironment *_Nonnull,
                                                     HJNIObject _Nonnull, HJNIMethod _Nonnull,
                                                     const HJNIValue *_Nonnull);
  void *_Nullable reserved37[2];
  uint8_t (*_Nonnull CallBooleanMethodA)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull,
                                         HJNIMethod _Nonnull, const HJNIValue *_Nonnull);
  void *_Nullable reserved40[23];
  void (*_Nonnull CallVoidMethodA)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull,
                                   HJNIMethod _Nonnull, const HJNIValue *_Nonnull);
  void *_Nullable reserved64[99];
  HJNIObject _Nullable (*_Nonnull NewString)(HJNIEnvironment *_Nonnull,
                                             const uint16_t *_Nonnull, int32_t);
  int32_t (*_Nonnull GetStringLength)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull);
  void *_Nullable reserved165[50];
  int32_t (*_Nonnull RegisterNatives)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull,
                                      const HJNINative *_Nonnull, int32_t);
  void *_Nullable reserved216[3];
  int32_t (*_Nonnull GetJavaVM)(HJNIEnvironment *_Nonnull, HJNIMachine *_Nullable *_Nonnull);
  void (*_Nonnull GetStringRegion)(HJNIEnvironment *_Nonnull, HJNIObject _Nonnull, int32_t, int32_t,
                                   uint16_t *_Nonnull);
};

// The name and the group of a thread that is attached.
typedef struct {
  int32_t version;
  const char *_Nullable name;
  HJNIObject _Nullable group;
} HJNIAttachment;

// JNIInvokeInterface
struct HJNIInvocation {
  void *_Nullable reserved0[5];
  int32_t (*_Nonnull DetachCurrentThread)(HJNIMachine *_Nonnull);
  int32_t (*_Nonnull GetEnv)(HJNIMachine *_Nonnull, void *_Nullable *_Nonnull, int32_t);
  int32_t (*_Nonnull AttachCurrentThreadAsDaemon)(HJNIMachine *_Nonnull, void *_Nullable *_Nonnull,
                                                  HJNIAttachment *_Nullable);
};

// An option of a machine, such as `-Xcheck:jni`.
typedef struct {
  const char *_Nonnull text;
  void *_Nullable extra;
} HJNIOption;

// The options of a machine that a program starts itself, as tests do.
typedef struct {
  int32_t version;
  int32_t count;
  const HJNIOption *_Nullable options;
  uint8_t ignores_unknown;
} HJNIStart;

// The type of the function JNI_CreateJavaVM, which the library of the machine exports.
typedef int32_t (*HJNICreate)(HJNIMachine *_Nullable *_Nonnull, void *_Nullable *_Nonnull,
                              HJNIStart *_Nonnull);

// Returns the functions of the current thread; NULL if the machine has ended.
//
// A thread that the machine does not know is attached as a daemon, so that it does not keep the
// program alive, and is detached when it ends.
HJNIEnvironment *_Nullable holdfast_jni_attach(HJNIMachine *_Nonnull machine);
