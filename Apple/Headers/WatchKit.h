// What the package uses of WatchKit. iOS has the module too, but may use nothing of it. The compiler
// takes a version of iOS for one of watchOS, unless there is one.
#pragma once
@import Foundation;
#pragma clang assume_nonnull begin

typedef enum OPEN_ENUM NOT_ON_IOS WATCHOS(3.0) WKApplicationState : NSInteger {
  WKApplicationStateActive = 0,
  WKApplicationStateInactive = 1,
  WKApplicationStateBackground = 2,
} WKApplicationState NOT_ON_IOS WATCHOS(3.0);

MAIN_ACTOR NOT_ON_IOS WATCHOS(7.0)
@interface WKApplication : NSObject
+ (WKApplication *)sharedApplication SWIFT_NAME(shared());
- (instancetype)init UNAVAILABLE;
@property(nonatomic, readonly) WKApplicationState applicationState;
- (void)registerForRemoteNotifications;
@end
extern const NSNotificationName WKApplicationDidBecomeActiveNotification NOT_ON_IOS WATCHOS(7.0) SWIFT_NAME(WKApplication.didBecomeActiveNotification);
extern const NSNotificationName WKApplicationWillResignActiveNotification NOT_ON_IOS WATCHOS(7.0) SWIFT_NAME(WKApplication.willResignActiveNotification);
extern const NSNotificationName WKApplicationWillEnterForegroundNotification NOT_ON_IOS WATCHOS(7.0) SWIFT_NAME(WKApplication.willEnterForegroundNotification);
extern const NSNotificationName WKApplicationDidEnterBackgroundNotification NOT_ON_IOS WATCHOS(7.0) SWIFT_NAME(WKApplication.didEnterBackgroundNotification);
#pragma clang assume_nonnull end
