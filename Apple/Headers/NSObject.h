// The root of Objective-C, and the macros of all headers of this folder.
//
// The compiler's importer makes Swift declarations of these headers, as it does of Apple's. They are
// written for this package from Apple's public documentation, and declare only what the adapters use.
// scripts/apple/facts.py compares them with Apple/Facts. Each declaration of a member is one line.
#pragma once

// The first version of each system that has a declaration. A declaration without is older than the
// manifest's versions. If only the version for iOS is given, the compiler guesses that for watchOS.
#define IOS(version) __attribute__((availability(ios, introduced = version)))
#define MACOS(version) __attribute__((availability(macos, introduced = version)))
#define WATCHOS(version) __attribute__((availability(watchos, introduced = version)))
#define NOT_ON_IOS __attribute__((availability(ios, unavailable)))
#define NOT_ON_MACOS __attribute__((availability(macos, unavailable)))
#define NOT_ON_WATCHOS __attribute__((availability(watchos, unavailable)))
#define NOT_IN_EXTENSIONS __attribute__((availability(ios_app_extension, unavailable)))
#define UNAVAILABLE __attribute__((unavailable))
#define OPEN_ENUM __attribute__((enum_extensibility(open)))
#define OPTIONS __attribute__((flag_enum, enum_extensibility(open)))
#define ERRORS(domain) __attribute__((ns_error_domain(domain), enum_extensibility(open)))
#define STRING_ENUM __attribute__((swift_wrapper(enum)))
#define STRING_STRUCT __attribute__((swift_wrapper(struct)))
#define DESIGNATED __attribute__((objc_designated_initializer))
#define BRIDGED_TO(type) __attribute__((swift_bridge(#type)))
#define SWIFT_NAME(name) __attribute__((swift_name(#name)))
#define SWIFT_ASYNC_NAME(name) __attribute__((swift_async_name(#name)))
#define SENDABLE __attribute__((swift_attr("@Sendable")))
#define MAIN_ACTOR __attribute__((swift_attr("@UIActor")))
#define NONISOLATED __attribute__((swift_attr("nonisolated")))

typedef _Bool BOOL;
typedef struct objc_selector *SEL;
typedef long NSInteger;
typedef unsigned long NSUInteger;

@protocol NSObject
- (BOOL)isEqual:(id)object;
@property(readonly) NSUInteger hash;
@end

__attribute__((objc_root_class))
@interface NSObject <NSObject>
+ (instancetype)alloc;
- (instancetype _Nonnull)init;
@end

// Apple declares this class in the module Dispatch. See module.modulemap.
SENDABLE SWIFT_NAME(DispatchQueue)
@interface OS_dispatch_queue : NSObject
@end
typedef OS_dispatch_queue *dispatch_queue_t;
