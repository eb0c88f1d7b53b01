// A stand-in for Apple's module UserNotifications that runs on Linux: a script is the user.
@_exported public import Foundation

public struct UNAuthorizationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let badge = UNAuthorizationOptions(rawValue: 1 << 0)
  public static let sound = UNAuthorizationOptions(rawValue: 1 << 1)
  public static let alert = UNAuthorizationOptions(rawValue: 1 << 2)
}

public struct UNNotificationActionOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let destructive = UNNotificationActionOptions(rawValue: 1 << 1)
}

public struct UNNotificationCategoryOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
}

public struct UNNotificationPresentationOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let sound = UNNotificationPresentationOptions(rawValue: 1 << 1)
  public static let list = UNNotificationPresentationOptions(rawValue: 1 << 3)
  public static let banner = UNNotificationPresentationOptions(rawValue: 1 << 4)
}

open class UNNotificationTrigger: NSObject {
  @_spi(Script) public override init() {}
}

open class UNNotificationContent: NSObject {
  open var title: String { "" }
  open var body: String { "" }
  open var categoryIdentifier: String { "" }

  public override init() {}
}

open class UNMutableNotificationContent: UNNotificationContent {
  private var texts = (title: "", body: "", category: "")

  open override var title: String {
    get { texts.title }
    set { texts.title = newValue }
  }
  open override var body: String {
    get { texts.body }
    set { texts.body = newValue }
  }
  open override var categoryIdentifier: String {
    get { texts.category }
    set { texts.category = newValue }
  }
}

open class UNNotificationRequest: NSObject {
  public let identifier: String
  public let content: UNNotificationContent

  public convenience init(
    identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?
  ) { self.init(identifier, content) }

  private init(_ identifier: String, _ content: UNNotificationContent) {
    (self.identifier, self.content) = (identifier, content)
  }
}

open class UNNotification: NSObject {
  public let request: UNNotificationRequest

  @_spi(Script) public init(_ request: UNNotificationRequest) { self.request = request }
}

open class UNNotificationResponse: NSObject {
  public let notification: UNNotification
  public let actionIdentifier: String

  @_spi(Script) public init(_ notification: UNNotification, _ action: String) {
    (self.notification, actionIdentifier) = (notification, action)
  }
}

open class UNNotificationAction: NSObject {
  public let identifier: String
  public let title: String

  public convenience init(
    identifier: String, title: String, options: UNNotificationActionOptions = []
  ) { self.init(identifier, title) }

  private init(_ identifier: String, _ title: String) {
    (self.identifier, self.title) = (identifier, title)
  }
}

open class UNNotificationCategory: NSObject {
  public let identifier: String
  public let actions: [UNNotificationAction]

  public convenience init(
    identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
    options: UNNotificationCategoryOptions = []
  ) { self.init(identifier, actions) }

  private init(_ identifier: String, _ actions: [UNNotificationAction]) {
    (self.identifier, self.actions) = (identifier, actions)
  }
}

public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler:
      @escaping @Sendable (UNNotificationPresentationOptions) -> Void)
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping @Sendable () -> Void)
}

// A default body never answers, so that a misspelled method fails a test.
extension UNUserNotificationCenterDelegate {
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler:
      @escaping @Sendable (UNNotificationPresentationOptions) -> Void
  ) {}
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping @Sendable () -> Void
  ) {}
}

/// Apple's class is not Sendable either. A script uses it on one thread at a time.
public class UNUserNotificationCenter: NSObject {
  public weak var delegate: (any UNUserNotificationCenterDelegate)?
  /// Whether the user allows notifications.
  @_spi(Script) public var isAllowed = true
  /// Whether adding a notification fails.
  @_spi(Script) public var isFull = false
  /// The options for which the app has asked.
  @_spi(Script) public private(set) var asked: [UNAuthorizationOptions] = []
  @_spi(Script) public private(set) var categories: Set<UNNotificationCategory> = []
  /// The notifications that are shown, by their identifiers.
  @_spi(Script) public private(set) var shown: [String: UNNotificationRequest] = [:]

  @_spi(Script) public override init() {}

  /// The center that a task uses.
  @TaskLocal private static var box = CenterBox(UNUserNotificationCenter())

  public class func current() -> UNUserNotificationCenter { box.center }

  /// Runs a test with this center as the current one.
  @_spi(Script) public func use<Value>(
    _ run: () async throws -> Value
  ) async rethrows -> Value {
    try await Self.$box.withValue(CenterBox(self), operation: run)
  }

  public func requestAuthorization(
    options: UNAuthorizationOptions = [],
    completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
  ) {
    asked.append(options)
    completionHandler(isAllowed, nil)
  }
  public func setNotificationCategories(_ categories: Set<UNNotificationCategory>) {
    self.categories = categories
  }
  public func getNotificationCategories(
    completionHandler: @escaping @Sendable (Set<UNNotificationCategory>) -> Void
  ) { completionHandler(categories) }
  public func add(
    _ request: UNNotificationRequest,
    withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
  ) {
    if !isFull { shown[request.identifier] = request }
    completionHandler?(isFull ? CocoaError(.userCancelled) : nil)
  }
  public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {
    for each in identifiers { shown[each] = nil }
  }
}

/// A center that a task inherits.
private struct CenterBox: @unchecked Sendable {
  let center: UNUserNotificationCenter

  init(_ center: UNUserNotificationCenter) { self.center = center }
}
