import LinkRuntime

/// A queue of one in front of a notifier; a newer notification replaces one that waits.
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

  /// Shows a notification; `nil` removes it.
  func put(_ notification: HostNotification?) { continuation.yield(notification) }

  /// Removes what is shown, and returns when that is done.
  func end() async {
    continuation.finish()
    await work.value
  }
}
