import HoldfastCore

/// The error of a wait in a test that ended without a result.
///
/// Its text states what was awaited, why the wait ended, and what the client waits for, as far as
/// the kit knows:
///
///     Waited for the client's next socket: nothing arrived within 600.0 s of real time. The client
///     waits until 1.004 s from now: advance the clock, or use nextSocket(advancing:).
public struct WaitFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The limit in real time of waits that name none. A busy machine does not reach it; a hang does.
  public static let usualLimit = Duration.seconds(600)

  /// The reason why a wait ended.
  public enum Reason: Sendable, Hashable {
    /// Nothing arrived within this real time.
    case timeLimit(Duration)
    /// Nothing arrived although the test clock was advanced to this many deadlines.
    case deadlines(Int)
    /// Nothing can arrive any more, because the socket has ended or the mailbox is closed.
    case closed
    /// The task was cancelled.
    case cancelled
  }

  /// A description of the awaited event.
  public let awaited: String
  /// The reason why the wait ended.
  public let reason: Reason
  /// One sentence for each thing that the client waits for, and for each open socket or request.
  public let hints: [String]

  init(_ awaited: String, _ reason: Reason, hints: [String] = []) {
    (self.awaited, self.reason, self.hints) = (awaited, reason, hints)
  }

  public var description: String {
    let outcome =
      switch reason {
      case .timeLimit(let limit): "nothing arrived within \(limit.inSeconds) of real time."
      case .deadlines(let count): "nothing arrived, and the clock was advanced \(count) times."
      case .closed: "nothing can arrive any more."
      case .cancelled: "the task was cancelled."
      }
    return (["Waited for \(awaited): \(outcome)"] + hints).joined(separator: " ")
  }
}

extension Duration {
  /// The duration in seconds with at most three decimals, such as `3.2 s`.
  var inSeconds: String { "\(Double(nanoseconds / 1_000_000) / 1000) s" }
}

/// Returns the result of the wait that ends first, or `nil` after a limit in real time.
///
/// The other wait is cancelled. If it ends with a result nevertheless, that result is
/// returned, so that nothing is lost.
func firstResult<Value: Sendable>(
  within limit: Duration, of wait: @escaping @concurrent @Sendable () async -> Value?,
  or other: (@concurrent @Sendable () async -> Value?)? = nil
) async -> Value? {
  await withTaskGroup(of: Value?.self, returning: Value?.self) { group in
    group.addTask { await wait() }
    if let other { group.addTask { await other() } }
    group.addTask {
      try? await Task.sleep(for: limit)
      return nil
    }
    var result: Value? = await group.next() ?? nil
    group.cancelAll()
    for await other in group where result == nil { result = other }
    return result
  }
}
