// The Objective-C half of Foundation. Its Swift half is Apple/Overlays/Foundation.swift.
#pragma once
@import ObjectiveC;
#pragma clang assume_nonnull begin

typedef double NSTimeInterval __attribute__((swift_name("TimeInterval")));

@protocol NSCopying
@end
@class NSCoder;
@protocol NSCoding
@end
@protocol NSSecureCoding <NSCoding>
@end

SENDABLE BRIDGED_TO(Swift.String)
@interface NSString : NSObject <NSCopying, NSSecureCoding>
@end
SENDABLE
@interface NSValue : NSObject <NSCopying, NSSecureCoding>
@end
SENDABLE
@interface NSNumber : NSValue
@property(readonly) NSInteger integerValue SWIFT_NAME(intValue);
@property(readonly) double doubleValue;
@property(readonly) BOOL boolValue;
@end
SENDABLE BRIDGED_TO(Foundation.Data)
@interface NSData : NSObject <NSCopying, NSSecureCoding>
@end
SENDABLE BRIDGED_TO(Foundation.Date)
@interface NSDate : NSObject <NSCopying, NSSecureCoding>
@end
SENDABLE BRIDGED_TO(Foundation.UUID)
@interface NSUUID : NSObject <NSCopying, NSSecureCoding>
@end
SENDABLE BRIDGED_TO(Foundation.URL)
@interface NSURL : NSObject <NSCopying, NSSecureCoding>
@end

typedef NSString *NSErrorDomain;
SENDABLE BRIDGED_TO(Swift.Error)
@interface NSError : NSObject <NSCopying, NSSecureCoding>
@property(readonly, copy) NSErrorDomain domain;
@property(readonly) NSInteger code;
@end

BRIDGED_TO(Swift.Array)
@interface NSArray<__covariant ObjectType> : NSObject <NSCopying, NSSecureCoding>
@end
BRIDGED_TO(Swift.Set)
@interface NSSet<__covariant ObjectType> : NSObject <NSCopying, NSSecureCoding>
@end
BRIDGED_TO(Swift.Dictionary)
@interface NSDictionary<__covariant KeyType, __covariant ObjectType> : NSObject <NSCopying, NSSecureCoding>
@end

@interface NSPredicate : NSObject <NSCopying, NSSecureCoding>
@end
@interface NSCompoundPredicate : NSPredicate
+ (NSCompoundPredicate *)andPredicateWithSubpredicates:(NSArray<NSPredicate *> *)subpredicates SWIFT_NAME(init(andPredicateWithSubpredicates:));
+ (NSCompoundPredicate *)orPredicateWithSubpredicates:(NSArray<NSPredicate *> *)subpredicates SWIFT_NAME(init(orPredicateWithSubpredicates:));
@end
@interface NSSortDescriptor : NSObject <NSCopying, NSSecureCoding>
- (instancetype)initWithKey:(nullable NSString *)key ascending:(BOOL)ascending;
@end
SENDABLE SWIFT_NAME(OperationQueue)
@interface NSOperationQueue : NSObject
@property(class, readonly, strong) NSOperationQueue *mainQueue;
@property NSInteger maxConcurrentOperationCount;
@property(nullable, assign) OS_dispatch_queue *underlyingQueue;
@end

SENDABLE SWIFT_NAME(Bundle)
@interface NSBundle : NSObject
@property(class, readonly, strong) NSBundle *mainBundle;
- (NSString *)localizedStringForKey:(NSString *)key value:(nullable NSString *)value table:(nullable NSString *)tableName;
@property(nullable, readonly, copy) NSString *bundleIdentifier;
@property(nullable, readonly, copy) NSDictionary<NSString *, id> *infoDictionary;
- (nullable id)objectForInfoDictionaryKey:(NSString *)key;
@end

typedef NSString *NSNotificationName STRING_STRUCT SWIFT_NAME(NSNotification.Name);
BRIDGED_TO(Foundation.Notification)
@interface NSNotification : NSObject <NSCopying, NSCoding>
@property(readonly, copy) NSNotificationName name;
@property(nullable, readonly, retain) id object;
@property(nullable, readonly, copy) NSDictionary *userInfo;
@end
SENDABLE SWIFT_NAME(NotificationCenter)
@interface NSNotificationCenter : NSObject
@property(class, readonly, strong) NSNotificationCenter *defaultCenter;
- (void)postNotificationName:(NSNotificationName)aName object:(nullable id)anObject;
- (void)removeObserver:(id)observer;
- (id<NSObject>)addObserverForName:(nullable NSNotificationName)name object:(nullable id)obj queue:(nullable NSOperationQueue *)queue usingBlock:(void (SENDABLE ^)(NSNotification *notification))block;
@end

typedef enum OPEN_ENUM SWIFT_NAME(ProcessInfo.ThermalState) NSProcessInfoThermalState : NSInteger {
  NSProcessInfoThermalStateNominal = 0,
  NSProcessInfoThermalStateFair = 1,
  NSProcessInfoThermalStateSerious = 2,
  NSProcessInfoThermalStateCritical = 3,
} NSProcessInfoThermalState;
SENDABLE SWIFT_NAME(ProcessInfo)
@interface NSProcessInfo : NSObject
@property(class, readonly, strong) NSProcessInfo *processInfo;
@property(readonly, copy) NSDictionary<NSString *, NSString *> *environment;
@property(readonly) NSUInteger activeProcessorCount;
@property(readonly, getter=isLowPowerModeEnabled) BOOL lowPowerModeEnabled;
@property(readonly) NSProcessInfoThermalState thermalState;
- (void)performExpiringActivityWithReason:(NSString *)reason usingBlock:(void (SENDABLE ^)(BOOL expired))block NOT_ON_MACOS;
@end
extern const NSNotificationName NSProcessInfoPowerStateDidChangeNotification;
extern const NSNotificationName NSProcessInfoThermalStateDidChangeNotification SWIFT_NAME(ProcessInfo.thermalStateDidChangeNotification);

@interface NSCoder : NSObject
@end
@interface NSKeyedArchiver : NSCoder
+ (nullable NSData *)archivedDataWithRootObject:(id)object requiringSecureCoding:(BOOL)requiresSecureCoding error:(NSError *_Nullable *_Nullable)error;
@end
@interface NSKeyedUnarchiver : NSCoder
@end
#pragma clang assume_nonnull end
