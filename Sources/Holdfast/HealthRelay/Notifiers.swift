public import LinkRuntime

/// Shows notifications as text, where a terminal or a log is all there is.
public actor TextNotifier: Notifier {
  private let write: @Sendable (HostNotification?) -> Void
  private var isShown = false

  /// - Parameter write: Writes what is shown now; `nil` says that it is gone.
  public init(write: @escaping @Sendable (HostNotification?) -> Void) {
    self.write = write
  }

  /// Writes it.
  public func show(_ notification: HostNotification) -> Bool {
    isShown = true
    write(notification)
    return true
  }

  /// Says that it is gone, when it was there.
  public func remove() {
    guard isShown else { return }
    isShown = false
    write(nil)
  }
}

/// Shows notifications in one place, and in another one while the first cannot.
public actor FallbackNotifier: Notifier {
  private let first: any Notifier
  private let second: any Notifier

  /// - Parameters:
  ///   - first: Is asked each time.
  ///   - second: Shows what the first cannot.
  public init(_ first: any Notifier, otherwise second: any Notifier) {
    self.first = first
    self.second = second
  }

  /// Shows it in one of the two.
  public func show(_ notification: HostNotification) async -> Bool {
    guard await first.show(notification) else { return await second.show(notification) }
    await second.remove()
    return true
  }

  /// Takes it away wherever it is.
  public func remove() async {
    await first.remove()
    await second.remove()
  }
}
