// What the package uses of BackgroundTasks.
#pragma once
@import Foundation;
#pragma clang assume_nonnull begin

extern NSString *const BGTaskSchedulerErrorDomain NOT_ON_MACOS NOT_ON_WATCHOS;
@class BGTaskScheduler;
typedef enum ERRORS(BGTaskSchedulerErrorDomain) IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS SWIFT_NAME(BGTaskScheduler.Error) BGTaskSchedulerErrorCode : NSInteger {
  BGTaskSchedulerErrorCodeUnavailable = 1,
  BGTaskSchedulerErrorCodeTooManyPendingTaskRequests = 2,
  BGTaskSchedulerErrorCodeNotPermitted = 3,
  BGTaskSchedulerErrorCodeImmediateRunIneligible IOS(26.0) NOT_ON_MACOS NOT_ON_WATCHOS = 4,
} BGTaskSchedulerErrorCode NOT_ON_MACOS NOT_ON_WATCHOS;

IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS
@interface BGTask : NSObject
@property(nonatomic, readonly, copy) NSString *identifier;
@property(nonatomic, strong, nullable) void (^expirationHandler)(void);
- (instancetype)init UNAVAILABLE;
- (void)setTaskCompletedWithSuccess:(BOOL)success SWIFT_NAME(setTaskCompleted(success:));
@end
IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS
@interface BGProcessingTask : BGTask
@end
IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS
@interface BGAppRefreshTask : BGTask
@end

IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS
@interface BGTaskRequest : NSObject <NSCopying>
@property(nonatomic, readonly, copy) NSString *identifier;
@property(nonatomic, copy, nullable) NSDate *earliestBeginDate;
- (instancetype)init UNAVAILABLE;
@end
IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS
@interface BGAppRefreshTaskRequest : BGTaskRequest
- (instancetype)initWithIdentifier:(NSString *)identifier;
@end
IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS
@interface BGProcessingTaskRequest : BGTaskRequest
- (instancetype)initWithIdentifier:(NSString *)identifier;
@property(nonatomic, assign) BOOL requiresNetworkConnectivity;
@property(nonatomic, assign) BOOL requiresExternalPower;
@end

IOS(13.0) NOT_ON_MACOS NOT_ON_WATCHOS
@interface BGTaskScheduler : NSObject
@property(class, readonly, strong) BGTaskScheduler *sharedScheduler SWIFT_NAME(shared);
- (instancetype)init UNAVAILABLE;
- (BOOL)registerForTaskWithIdentifier:(NSString *)identifier usingQueue:(nullable OS_dispatch_queue *)queue launchHandler:(void (^)(__kindof BGTask *task))launchHandler SWIFT_NAME(register(forTaskWithIdentifier:using:launchHandler:));
- (BOOL)submitTaskRequest:(BGTaskRequest *)taskRequest error:(NSError *_Nullable *_Nullable)error SWIFT_NAME(submit(_:));
- (void)cancelTaskRequestWithIdentifier:(NSString *)identifier SWIFT_NAME(cancel(taskRequestWithIdentifier:));
- (void)cancelAllTaskRequests;
- (void)getPendingTaskRequestsWithCompletionHandler:(void (SENDABLE ^)(NSArray<BGTaskRequest *> *taskRequests))completionHandler SWIFT_NAME(getPendingTaskRequests(completionHandler:));
@end
#pragma clang assume_nonnull end
