public import LinkRuntime

/// A notifier that writes text, for a terminal or a log.
public actor TextNotifier: Notifier {
  private let write: @Sendable (HostNotification?) -> Void
  private var isShown = false

  /// - Parameter write: called with the notification; `nil` when it is removed.
  public init(write: @escaping @Sendable (HostNotification?) -> Void) {
    self.write = write
  }

  /// Writes the notification.
  public func show(_ notification: HostNotification) -> Bool {
    isShown = true
    write(notification)
    return true
  }

  /// Writes `nil` if a notification is shown.
  public func remove() {
    guard isShown else { return }
    isShown = false
    write(nil)
  }
}

/// A notifier that uses a second one while the first cannot show anything.
public actor FallbackNotifier: Notifier {
  private let first: any Notifier
  private let second: any Notifier

  /// - Parameters:
  ///   - first: tried each time.
  ///   - second: used for what the first cannot show.
  public init(_ first: any Notifier, otherwise second: any Notifier) {
    self.first = first
    self.second = second
  }

  /// Shows the notification with one of the two.
  public func show(_ notification: HostNotification) async -> Bool {
    guard await first.show(notification) else { return await second.show(notification) }
    await second.remove()
    return true
  }

  /// Removes the notification from both.
  public func remove() async {
    await first.remove()
    await second.remove()
  }
}
