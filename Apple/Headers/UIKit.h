// What the package uses of UIKit. watchOS has the module without the class UIApplication.
#pragma once
@import Foundation;
#pragma clang assume_nonnull begin

@class UIApplication;
@protocol UIApplicationDelegate;
typedef NSString *UIApplicationLaunchOptionsKey STRING_ENUM SWIFT_NAME(UIApplication.LaunchOptionsKey) NOT_ON_WATCHOS;
extern UIApplicationLaunchOptionsKey const UIApplicationLaunchOptionsBluetoothCentralsKey NOT_ON_WATCHOS SWIFT_NAME(bluetoothCentrals);
extern UIApplicationLaunchOptionsKey const UIApplicationLaunchOptionsRemoteNotificationKey NOT_ON_WATCHOS SWIFT_NAME(remoteNotification);
typedef NSUInteger UIBackgroundTaskIdentifier STRING_ENUM NOT_ON_WATCHOS;
extern const UIBackgroundTaskIdentifier UIBackgroundTaskInvalid NOT_ON_WATCHOS;

typedef enum OPEN_ENUM NOT_ON_WATCHOS UIBackgroundFetchResult : NSUInteger {
  UIBackgroundFetchResultNewData = 0,
  UIBackgroundFetchResultNoData = 1,
  UIBackgroundFetchResultFailed = 2,
} UIBackgroundFetchResult NOT_ON_WATCHOS;
typedef enum OPEN_ENUM NOT_ON_WATCHOS SWIFT_NAME(UIApplication.State) UIApplicationState : NSInteger {
  UIApplicationStateActive = 0,
  UIApplicationStateInactive = 1,
  UIApplicationStateBackground = 2,
} UIApplicationState NOT_ON_WATCHOS;
typedef enum OPEN_ENUM NOT_ON_WATCHOS UIBackgroundRefreshStatus : NSInteger {
  UIBackgroundRefreshStatusRestricted = 0,
  UIBackgroundRefreshStatusDenied = 1,
  UIBackgroundRefreshStatusAvailable = 2,
} UIBackgroundRefreshStatus NOT_ON_WATCHOS;

MAIN_ACTOR NOT_ON_WATCHOS
@interface UIResponder : NSObject
@end
MAIN_ACTOR NOT_ON_WATCHOS
@interface UIApplication : UIResponder
@property(class, nonatomic, readonly) UIApplication *sharedApplication NOT_IN_EXTENSIONS SWIFT_NAME(shared);
@property(nullable, nonatomic, assign) id<UIApplicationDelegate> delegate;
@property(nonatomic, readonly) UIApplicationState applicationState;
@property(nonatomic, readonly, getter=isProtectedDataAvailable) BOOL protectedDataAvailable;
@property(nonatomic, readonly) UIBackgroundRefreshStatus backgroundRefreshStatus;
- (void)registerForRemoteNotifications;
- (UIBackgroundTaskIdentifier)beginBackgroundTaskWithName:(nullable NSString *)taskName expirationHandler:(void (MAIN_ACTOR SENDABLE ^_Nullable)(void))handler NONISOLATED;
- (void)endBackgroundTask:(UIBackgroundTaskIdentifier)identifier NONISOLATED;
@end

extern NSString *const UIApplicationOpenDefaultApplicationsSettingsURLString IOS(18.2) NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.openDefaultApplicationsSettingsURLString);
extern const NSNotificationName UIApplicationDidEnterBackgroundNotification NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.didEnterBackgroundNotification);
extern const NSNotificationName UIApplicationWillEnterForegroundNotification NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.willEnterForegroundNotification);
extern const NSNotificationName UIApplicationDidBecomeActiveNotification NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.didBecomeActiveNotification);
extern const NSNotificationName UIApplicationWillResignActiveNotification NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.willResignActiveNotification);
extern const NSNotificationName UIApplicationWillTerminateNotification NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.willTerminateNotification);
extern const NSNotificationName UIApplicationProtectedDataWillBecomeUnavailable NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.protectedDataWillBecomeUnavailableNotification);
extern const NSNotificationName UIApplicationProtectedDataDidBecomeAvailable NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.protectedDataDidBecomeAvailableNotification);
extern const NSNotificationName UIApplicationBackgroundRefreshStatusDidChangeNotification NOT_ON_WATCHOS NONISOLATED SWIFT_NAME(UIApplication.backgroundRefreshStatusDidChangeNotification);

MAIN_ACTOR NOT_ON_WATCHOS
@protocol UIApplicationDelegate <NSObject>
@optional
- (BOOL)application:(UIApplication *)application willFinishLaunchingWithOptions:(nullable NSDictionary<UIApplicationLaunchOptionsKey, id> *)launchOptions;
- (BOOL)application:(UIApplication *)application didFinishLaunchingWithOptions:(nullable NSDictionary<UIApplicationLaunchOptionsKey, id> *)launchOptions;
- (void)application:(UIApplication *)application didRegisterForRemoteNotificationsWithDeviceToken:(NSData *)deviceToken;
- (void)application:(UIApplication *)application didFailToRegisterForRemoteNotificationsWithError:(NSError *)error;
- (void)application:(UIApplication *)application didReceiveRemoteNotification:(NSDictionary *)userInfo fetchCompletionHandler:(void (^)(UIBackgroundFetchResult result))completionHandler;
- (void)application:(UIApplication *)application handleEventsForBackgroundURLSession:(NSString *)identifier completionHandler:(void (^)(void))completionHandler;
@end
#pragma clang assume_nonnull end
