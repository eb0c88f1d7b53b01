// A stand-in for Apple's module UIKit that runs on Linux: an application without a screen.
@_exported public import Foundation
import Synchronization

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}

public enum UIBackgroundFetchResult: UInt, Sendable {
  case newData, noData, failed
}

@MainActor open class UIResponder: NSObject {}

@MainActor open class UIApplication: UIResponder {
  public enum State: Int, Sendable {
    case active, inactive, background
  }

  public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let bluetoothCentrals = LaunchOptionsKey(
      rawValue: "UIApplicationLaunchOptionsBluetoothCentralsKey")
    public static let remoteNotification = LaunchOptionsKey(
      rawValue: "UIApplicationLaunchOptionsRemoteNotificationKey")
  }

  public nonisolated static let didEnterBackgroundNotification =
    NSNotification.Name("UIApplicationDidEnterBackgroundNotification")
  public nonisolated static let willEnterForegroundNotification =
    NSNotification.Name("UIApplicationWillEnterForegroundNotification")
  public nonisolated static let didBecomeActiveNotification =
    NSNotification.Name("UIApplicationDidBecomeActiveNotification")
  public nonisolated static let willTerminateNotification =
    NSNotification.Name("UIApplicationWillTerminateNotification")
  public nonisolated static let protectedDataDidBecomeAvailableNotification =
    NSNotification.Name("UIApplicationProtectedDataDidBecomeAvailable")
  public nonisolated static let protectedDataWillBecomeUnavailableNotification =
    NSNotification.Name("UIApplicationProtectedDataWillBecomeUnavailable")

  // There is no `shared`: an app extension must not use it, so no adapter may.

  public private(set) var applicationState: State
  public private(set) var isProtectedDataAvailable: Bool
  public weak var delegate: (any UIApplicationDelegate)?

  private struct Tasks {
    var open: [Int: (@MainActor @Sendable () -> Void)?] = [:]
    var names: [Int: String] = [:]
    var last = 0
    var isGranting = true
    var misuses: [String] = []
  }

  private nonisolated let tasks = Mutex(Tasks())
  private let center: NotificationCenter

  /// Creates the application of one test. It posts its notifications to `center`.
  @_spi(Script) public init(
    _ state: State = .inactive, isProtectedDataAvailable: Bool = true,
    center: NotificationCenter = NotificationCenter()
  ) {
    (applicationState, self.isProtectedDataAvailable) = (state, isProtectedDataAvailable)
    self.center = center
  }

  public nonisolated func beginBackgroundTask(
    withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
  ) -> UIBackgroundTaskIdentifier {
    tasks.withLock { tasks in
      guard tasks.isGranting else { return .invalid }
      tasks.last += 1
      tasks.open[tasks.last] = .some(handler)
      tasks.names[tasks.last] = taskName
      return UIBackgroundTaskIdentifier(rawValue: tasks.last)
    }
  }

  public nonisolated func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {
    tasks.withLock { tasks in
      guard tasks.open.removeValue(forKey: identifier.rawValue) == nil else { return }
      tasks.misuses.append("the background task \(identifier.rawValue) is not open")
    }
  }

  public func registerForRemoteNotifications() { remoteRegistrations += 1 }

  /// The number of calls of `registerForRemoteNotifications`.
  @_spi(Script) public private(set) var remoteRegistrations = 0
  /// The completion handlers that the delegate received.
  var handlers: [(name: String, handler: ScriptedHandler)] = []
}

@_spi(Script) extension UIApplication {
  /// The names of the background tasks that are open, in the order of their start.
  public nonisolated var openTasks: [String] {
    tasks.withLock { tasks in tasks.open.keys.sorted().map { tasks.names[$0] ?? "" } }
  }

  public nonisolated func setGranting(_ isGranting: Bool) {
    tasks.withLock { $0.isGranting = isGranting }
  }

  /// Calls the expiration handler of each open task. A task that is then still open is a misuse,
  /// because the system would end the app.
  public func expireTasks() {
    let numbers = tasks.withLock { $0.open.keys.sorted() }
    for number in numbers {
      let handler = tasks.withLock { $0.open[number] ?? nil }
      handler?()
      tasks.withLock { tasks in
        if tasks.open.removeValue(forKey: number) != nil {
          tasks.misuses.append("the background task \(number) was not ended at its expiry")
        }
      }
    }
  }

  /// Reports that a default body of `UIApplicationDelegate` ran.
  public nonisolated func addMisuse(_ text: String) {
    tasks.withLock { $0.misuses.append(text) }
  }

  public nonisolated func takeMisuses() -> [String] {
    tasks.withLock { tasks in
      defer { tasks.misuses = [] }
      return tasks.misuses
    }
  }

  /// Changes the state and posts the notifications, on the main thread as the system does.
  public func enterBackground() {
    applicationState = .background
    post(Self.didEnterBackgroundNotification)
  }

  public func enterForeground() {
    post(Self.willEnterForegroundNotification)
    applicationState = .active
    post(Self.didBecomeActiveNotification)
  }

  /// Becomes active, as at the first appearance of an app without scenes.
  public func becomeActive() {
    applicationState = .active
    post(Self.didBecomeActiveNotification)
  }

  public func setProtectedDataAvailable(_ isAvailable: Bool) {
    if !isAvailable { post(Self.protectedDataWillBecomeUnavailableNotification) }
    isProtectedDataAvailable = isAvailable
    if isAvailable { post(Self.protectedDataDidBecomeAvailableNotification) }
  }

  public func terminate() { post(Self.willTerminateNotification) }

  private func post(_ name: NSNotification.Name) { center.post(name: name, object: self) }
}

@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool
  func application(
    _ application: UIApplication,
    didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
  func application(
    _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error)
  func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void)
  func application(
    _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
    completionHandler: @escaping () -> Void)
}

extension UIApplicationDelegate {
  public func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    application.addMisuse("nobody answered didFinishLaunching")
    return true
  }
  public func application(
    _ application: UIApplication,
    didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
  ) { application.addMisuse("nobody answered didRegisterForRemoteNotifications") }
  public func application(
    _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error
  ) { application.addMisuse("nobody answered didFailToRegisterForRemoteNotifications") }
  public func application(
    _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
    fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
  ) { application.addMisuse("nobody answered didReceiveRemoteNotification") }
  public func application(
    _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
    completionHandler: @escaping () -> Void
  ) { application.addMisuse("nobody answered handleEventsForBackgroundURLSession") }
}
