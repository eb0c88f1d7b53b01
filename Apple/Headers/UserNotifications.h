// What the package uses of UserNotifications.
#pragma once
@import Foundation;
#pragma clang assume_nonnull begin

typedef enum OPTIONS UNAuthorizationOptions : NSUInteger {
  UNAuthorizationOptionBadge = 1 << 0,
  UNAuthorizationOptionSound = 1 << 1,
  UNAuthorizationOptionAlert = 1 << 2,
} UNAuthorizationOptions;
typedef enum OPTIONS UNNotificationActionOptions : NSUInteger {
  UNNotificationActionOptionAuthenticationRequired = 1 << 0,
  UNNotificationActionOptionDestructive = 1 << 1,
  UNNotificationActionOptionForeground = 1 << 2,
} UNNotificationActionOptions;
typedef enum OPTIONS UNNotificationCategoryOptions : NSUInteger {
  UNNotificationCategoryOptionCustomDismissAction = 1 << 0,
} UNNotificationCategoryOptions;
typedef enum OPTIONS UNNotificationPresentationOptions : NSUInteger {
  UNNotificationPresentationOptionSound = 1 << 1,
  UNNotificationPresentationOptionList = 1 << 3,
  UNNotificationPresentationOptionBanner = 1 << 4,
} UNNotificationPresentationOptions;

@interface UNNotificationTrigger : NSObject
- (instancetype)init UNAVAILABLE;
@end
@interface UNNotificationContent : NSObject <NSCopying>
@property(nonatomic, readonly, copy) NSString *title;
@property(nonatomic, readonly, copy) NSString *body;
@property(nonatomic, readonly, copy) NSString *categoryIdentifier;
@end
@interface UNMutableNotificationContent : UNNotificationContent
@property(nonatomic, copy) NSString *title;
@property(nonatomic, copy) NSString *body;
@property(nonatomic, copy) NSString *categoryIdentifier;
@end
@interface UNNotificationRequest : NSObject <NSCopying>
@property(nonatomic, readonly, copy) NSString *identifier;
@property(nonatomic, readonly, copy) UNNotificationContent *content;
- (instancetype)init UNAVAILABLE;
+ (instancetype)requestWithIdentifier:(NSString *)identifier content:(UNNotificationContent *)content trigger:(nullable UNNotificationTrigger *)trigger;
@end
@interface UNNotification : NSObject <NSCopying>
@property(nonatomic, readonly, copy) UNNotificationRequest *request;
- (instancetype)init UNAVAILABLE;
@end
@interface UNNotificationResponse : NSObject <NSCopying>
@property(nonatomic, readonly, copy) UNNotification *notification;
@property(nonatomic, readonly, copy) NSString *actionIdentifier;
- (instancetype)init UNAVAILABLE;
@end
@interface UNNotificationAction : NSObject <NSCopying>
- (instancetype)init UNAVAILABLE;
@property(nonatomic, readonly, copy) NSString *identifier;
@property(nonatomic, readonly, copy) NSString *title;
+ (instancetype)actionWithIdentifier:(NSString *)identifier title:(NSString *)title options:(UNNotificationActionOptions)options;
@end
@interface UNNotificationCategory : NSObject <NSCopying>
@property(nonatomic, readonly, copy) NSString *identifier;
@property(nonatomic, readonly, copy) NSArray<UNNotificationAction *> *actions;
- (instancetype)init UNAVAILABLE;
+ (instancetype)categoryWithIdentifier:(NSString *)identifier actions:(NSArray<UNNotificationAction *> *)actions intentIdentifiers:(NSArray<NSString *> *)intentIdentifiers options:(UNNotificationCategoryOptions)options;
@end

@protocol UNUserNotificationCenterDelegate;
@interface UNUserNotificationCenter : NSObject
@property(nonatomic, weak, nullable) id<UNUserNotificationCenterDelegate> delegate;
- (instancetype)init UNAVAILABLE;
+ (UNUserNotificationCenter *)currentNotificationCenter;
- (void)requestAuthorizationWithOptions:(UNAuthorizationOptions)options completionHandler:(void (SENDABLE ^)(BOOL granted, NSError *_Nullable error))completionHandler;
- (void)setNotificationCategories:(NSSet<UNNotificationCategory *> *)categories;
- (void)getNotificationCategoriesWithCompletionHandler:(void (SENDABLE ^)(NSSet<UNNotificationCategory *> *categories))completionHandler;
- (void)addNotificationRequest:(UNNotificationRequest *)request withCompletionHandler:(void (SENDABLE ^_Nullable)(NSError *_Nullable error))completionHandler;
- (void)removeDeliveredNotificationsWithIdentifiers:(NSArray<NSString *> *)identifiers;
@end

@protocol UNUserNotificationCenterDelegate <NSObject>
@optional
- (void)userNotificationCenter:(UNUserNotificationCenter *)center willPresentNotification:(UNNotification *)notification withCompletionHandler:(void (SENDABLE ^)(UNNotificationPresentationOptions options))completionHandler;
- (void)userNotificationCenter:(UNUserNotificationCenter *)center didReceiveNotificationResponse:(UNNotificationResponse *)response withCompletionHandler:(void (SENDABLE ^)(void))completionHandler;
@end
#pragma clang assume_nonnull end
