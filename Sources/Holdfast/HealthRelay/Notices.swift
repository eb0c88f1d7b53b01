import LinkRuntime

/// Brings notifications to the desktop without waiting for it: of those in line the newest counts.
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

  /// Shows this, or nothing.
  func put(_ notification: HostNotification?) { continuation.yield(notification) }

  /// Takes away what is shown; returns when that is done.
  func end() async {
    continuation.finish()
    await work.value
  }
}
