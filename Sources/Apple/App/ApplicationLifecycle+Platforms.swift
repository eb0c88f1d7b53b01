#if canImport(UIKit) && !os(watchOS)
  public import Foundation
  public import HoldfastPorts
  public import UIKit

  extension ApplicationLifecycle {
    /// Creates a monitor of an application and starts to observe it.
    ///
    /// - Parameters:
    ///   - application: The application, which the app delegate receives.
    ///   - time: The background time that is requested when the app leaves the foreground; `nil`
    ///     requests none.
    ///   - center: The center to which the system posts its notifications.
    @MainActor public convenience init(
      _ application: UIApplication, time: (any BackgroundTime)?,
      center: NotificationCenter = .default
    ) {
      let state = State(
        isInBackground: application.applicationState == .background,
        isProtectedDataAvailable: application.isProtectedDataAvailable,
        isLowPower: ProcessInfo.processInfo.isLowPowerModeEnabled)
      self.init(state, time: time, center: center)
      observe(UIApplication.didEnterBackgroundNotification) { $0.enterBackground() }
      observe(UIApplication.willEnterForegroundNotification) { $0.enterForeground() }
      // An app without scenes does not enter the foreground at its first appearance.
      observe(UIApplication.didBecomeActiveNotification) { $0.enterForeground() }
      observe(UIApplication.willTerminateNotification) { $0.report(.terminate) }
      observe(UIApplication.protectedDataDidBecomeAvailableNotification) {
        $0.setProtectedData(available: true)
      }
      observe(UIApplication.protectedDataWillBecomeUnavailableNotification) {
        $0.setProtectedData(available: false)
      }
      observe(.NSProcessInfoPowerStateDidChange) {
        $0.setLowPower(ProcessInfo.processInfo.isLowPowerModeEnabled)
      }
    }
  }
#elseif os(watchOS) && canImport(WatchKit)
  public import Foundation
  public import HoldfastPorts
  public import WatchKit

  extension ApplicationLifecycle {
    /// Creates a monitor of a watch app and starts to observe it.
    ///
    /// - Parameters:
    ///   - application: The application, which the app delegate receives.
    ///   - time: The background time that is requested when the app leaves the foreground; `nil`
    ///     requests none.
    ///   - center: The center to which the system posts its notifications.
    @MainActor public convenience init(
      _ application: WKApplication, time: (any BackgroundTime)?,
      center: NotificationCenter = .default
    ) {
      let state = State(
        isInBackground: application.applicationState == .background,
        isProtectedDataAvailable: nil,
        isLowPower: ProcessInfo.processInfo.isLowPowerModeEnabled)
      self.init(state, time: time, center: center)
      observe(WKApplication.didEnterBackgroundNotification) { $0.enterBackground() }
      observe(WKApplication.willEnterForegroundNotification) { $0.enterForeground() }
      observe(WKApplication.didBecomeActiveNotification) { $0.enterForeground() }
      observe(.NSProcessInfoPowerStateDidChange) {
        $0.setLowPower(ProcessInfo.processInfo.isLowPowerModeEnabled)
      }
    }
  }
#elseif canImport(AppKit)
  public import AppKit
  public import Foundation
  import HoldfastPorts

  extension ApplicationLifecycle {
    /// Creates a monitor of a Mac app and starts to observe it.
    ///
    /// A Mac app runs on while it is hidden, so it is always in the foreground, and sleep is reported
    /// instead. Each activation is reported as `.foreground`, so that links that gave up connect again
    /// when the user returns.
    ///
    /// - Parameters:
    ///   - workspace: The workspace, whose center reports sleep.
    ///   - center: The center to which the system posts its other notifications.
    @MainActor public convenience init(
      _ workspace: NSWorkspace = .shared, center: NotificationCenter = .default
    ) {
      let state = State(
        isInBackground: false, isProtectedDataAvailable: nil,
        isLowPower: ProcessInfo.processInfo.isLowPowerModeEnabled)
      self.init(state, time: nil, center: center)
      let power = workspace.notificationCenter
      observe(NSWorkspace.willSleepNotification, in: power) { $0.report(.willSleep) }
      observe(NSWorkspace.didWakeNotification, in: power) { $0.report(.didWake) }
      observe(NSApplication.didBecomeActiveNotification) { $0.report(.foreground) }
      observe(NSApplication.willTerminateNotification) { $0.report(.terminate) }
      observe(.NSProcessInfoPowerStateDidChange) {
        $0.setLowPower(ProcessInfo.processInfo.isLowPowerModeEnabled)
      }
    }
  }
#endif
