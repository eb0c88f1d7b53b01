public import HoldfastPorts

/// A notifier that writes text, for a terminal or a log.
public actor TextNotifier: Notifier {
  private let write: @Sendable (HostNotification?) -> Void
  private var isShown = false

  /// Creates a notifier.
  ///
  /// - Parameter write: A closure that is called with the notification, or with `nil` when it is
  ///   removed.
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

/// A notifier that uses a second notifier while the first cannot show notifications.
public actor FallbackNotifier: Notifier {
  private let first: any Notifier
  private let second: any Notifier

  /// Creates a notifier from two other notifiers.
  ///
  /// - Parameters:
  ///   - first: The notifier that is tried each time.
  ///   - second: The notifier for notifications that the first cannot show.
  public init(_ first: any Notifier, otherwise second: any Notifier) {
    self.first = first
    self.second = second
  }

  /// Shows the notification with the first notifier or, if that fails, with the second.
  public func show(_ notification: HostNotification) async -> Bool {
    guard await first.show(notification) else { return await second.show(notification) }
    await second.remove()
    return true
  }

  /// Removes the notification from both notifiers.
  public func remove() async {
    await first.remove()
    await second.remove()
  }
}

/// A queue of length one for a notifier. A newer notification replaces the one that waits.
final class Notices: Sendable {
  private let continuation: AsyncStream<HostNotification?>.Continuation
  private let work: Task<Void, Never>

  init(_ notifier: any Notifier) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: HostNotification?.self, bufferingPolicy: .bufferingNewest(1))
    self.continuation = continuation
    work = Task {
      var isShown = false
      for await notification in stream {
        if let notification {
          isShown = await notifier.show(notification)
        } else if isShown {
          await notifier.remove()
          isShown = false
        }
      }
      if isShown { await notifier.remove() }
    }
  }

  /// Shows a notification, or removes it if it is `nil`.
  func put(_ notification: HostNotification?) { continuation.yield(notification) }

  /// Removes the shown notification. Returns when it has been removed.
  func end() async {
    continuation.finish()
    await work.value
  }
}
