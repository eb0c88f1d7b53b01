#if canImport(UIKit) && !os(watchOS) && !os(Linux)
  public import Foundation
  import HoldfastCore
  public import UIKit

  /// The delegate of an app that is launched in the background.
  ///
  ///     final class AppDelegate: HoldfastDelegate {
  ///       override func launched() {
  ///         let links = HoldfastLinks(server: server) { try await signIn() }
  ///         links.parts.radio = radio
  ///         router.links = links
  ///         router.wakes = wakes
  ///       }
  ///     }
  ///
  /// An app with a SwiftUI scene names it in `@UIApplicationDelegateAdaptor`. All decisions are
  /// those of its `router`.
  @MainActor open class HoldfastDelegate: NSObject, UIApplicationDelegate {
    /// The receiver of the events.
    public let router = LaunchRouter()

    /// Creates the links and their parts, and sets them in the router. Override this method.
    ///
    /// It is called before the launch ends, also in the background and before the first unlock. It
    /// must not wait. The default implementation does nothing.
    open func launched() {}

    open func application(
      _ application: UIApplication,
      didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
      launched()
      router.finishLaunching(restoresBluetooth: launchOptions?[.bluetoothCentrals] != nil)
      return true
    }

    open func application(
      _ application: UIApplication,
      didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
    ) {
      router.registered(deviceToken: deviceToken)
    }

    open func application(
      _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
      fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
    ) {
      router.receivePush { completionHandler($0 == .done ? .newData : .noData) }
    }

    open func application(
      _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
      completionHandler: @escaping () -> Void
    ) {
      router.uploadsEnded(session: identifier) { completionHandler() }
    }
  }
#endif
