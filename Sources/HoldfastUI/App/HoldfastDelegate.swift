#if canImport(UIKit) && !os(watchOS)
  public import Foundation
  import HoldfastAppleApp
  import HoldfastCore
  public import UIKit

  /// The delegate of an app that is launched in the background.
  ///
  ///     final class AppDelegate: HoldfastDelegate {
  ///       override func launched() {
  ///         let links = HoldfastLinks(server: server) { try await signIn() }
  ///         links.parts.radio = CoreBluetoothCentral(restoration: "bottle")
  ///         router.links = links
  ///         router.wakes = SystemWakes(tasks: [router.task])
  ///       }
  ///     }
  ///
  /// An app with a SwiftUI scene names it in `@UIApplicationDelegateAdaptor`. All decisions are
  /// those of its `router`.
  ///
  /// Links without a lifecycle monitor or background time get those of this application when they
  /// are set in the router. Links that are not set there need their own:
  /// `ApplicationLifecycle(_:time:)` and `AppBackgroundTime(_:)`.
  @MainActor open class HoldfastDelegate: NSObject, UIApplicationDelegate {
    /// The receiver of the events.
    public let router = LaunchRouter()
    /// The application, from the call of `launched()` on.
    public private(set) var runningApplication: UIApplication?
    /// The center to which the system posts the notifications of the application.
    var center = NotificationCenter.default

    /// Creates the links and their parts, and sets them in the router. Override this method.
    ///
    /// It is called before the launch ends, also in the background and before the first unlock. It
    /// must not wait. An app that is woken by pushes also calls `registerForRemoteNotifications()`
    /// of its `runningApplication` here, at each launch. The default implementation does nothing.
    open func launched() {}

    open func application(
      _ application: UIApplication,
      didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
      runningApplication = application
      router.runningApp = { [center] in
        let time = AppBackgroundTime(application)
        return RunningApp(
          lifecycle: ApplicationLifecycle(application, time: time, center: center), time: time)
      }
      launched()
      router.finishLaunching()
      return true
    }

    open func application(
      _ application: UIApplication,
      didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
      router.registered(deviceToken: deviceToken)
    }

    open func application(
      _ application: UIApplication,
      didFailToRegisterForRemoteNotificationsWithError error: any Error
    ) {
      router.registrationFailed(error)
    }

    open func application(
      _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
      fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
      router.receivePush { completionHandler($0 == .done ? .newData : .failed) }
    }

    /// Passes on the end of uploads. An app with a background session of its own overrides this
    /// method, and calls `super` for all other sessions.
    open func application(
      _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
      completionHandler: @escaping () -> Void
    ) {
      router.uploadsEnded(session: identifier) { completionHandler() }
    }
  }
#endif
