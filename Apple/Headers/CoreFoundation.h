// The types of Core Foundation that other headers name.
#pragma once
#include "NSObject.h"

#define BRIDGED_CLASS(name) __attribute__((objc_bridge(name)))
#define RETURNS_RETAINED __attribute__((cf_returns_retained))

typedef double CFAbsoluteTime;
typedef signed int OSStatus;
typedef const BRIDGED_CLASS(id) void *CFTypeRef;
typedef const struct BRIDGED_CLASS(NSString) __CFString *CFStringRef;
typedef const struct BRIDGED_CLASS(NSDictionary) __CFDictionary *CFDictionaryRef;
typedef const struct BRIDGED_CLASS(NSData) __CFData *CFDataRef;
typedef const struct BRIDGED_CLASS(NSNumber) __CFBoolean *CFBooleanRef;
typedef struct BRIDGED_CLASS(NSError) __CFError *CFErrorRef;
typedef const struct BRIDGED_CLASS(NSArray) __CFArray *CFArrayRef;

#pragma clang assume_nonnull begin
extern const CFBooleanRef kCFBooleanTrue;
extern const CFBooleanRef kCFBooleanFalse;
#pragma clang assume_nonnull end
