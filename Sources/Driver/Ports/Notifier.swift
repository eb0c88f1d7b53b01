/// Shows one lasting notification, as a service that runs in background must.
///
/// Contract: `show` replaces what is shown; `remove` takes it away, and does nothing without one.
public protocol Notifier: Sendable {
  /// Shows it, or changes the one that is shown; false when nobody can see it.
  func show(_ notification: HostNotification) async -> Bool
  /// Takes it away.
  func remove() async
}

/// What a notification says.
public struct HostNotification: Sendable, Hashable {
  /// One short line.
  public var title: String
  /// What else there is to say.
  public var body: String

  /// A notification; nothing in it is a secret, since it may stand on a locked screen.
  public init(title: String, body: String) {
    self.title = title
    self.body = body
  }
}
