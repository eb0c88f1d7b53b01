// What the package uses of AppKit.
#pragma once
@import Foundation;
#pragma clang assume_nonnull begin

MAIN_ACTOR
@interface NSResponder : NSObject <NSCoding>
@end
MAIN_ACTOR
@interface NSApplication : NSResponder
@property(class, readonly, strong) NSApplication *sharedApplication SWIFT_NAME(shared);
@property(getter=isActive, readonly) BOOL active;
@end
extern const NSNotificationName NSApplicationDidBecomeActiveNotification SWIFT_NAME(NSApplication.didBecomeActiveNotification);
extern const NSNotificationName NSApplicationWillTerminateNotification SWIFT_NAME(NSApplication.willTerminateNotification);

@interface NSWorkspace : NSObject
@property(class, readonly, strong) NSWorkspace *sharedWorkspace SWIFT_NAME(shared);
@property(readonly, strong) NSNotificationCenter *notificationCenter;
@end
extern const NSNotificationName NSWorkspaceWillSleepNotification SWIFT_NAME(NSWorkspace.willSleepNotification);
extern const NSNotificationName NSWorkspaceDidWakeNotification SWIFT_NAME(NSWorkspace.didWakeNotification);
#pragma clang assume_nonnull end
