/// The tasks that wait until a model satisfies a condition.
@MainActor final class Moments {
  private var waiting: [Int: AsyncStream<Never>.Continuation] = [:]
  private var last = 0
  private var isOver = false

  /// Returns when the condition holds. It is checked at once, and after each call of `changed()`.
  ///
  /// Also returns after `end()`, or when the task is cancelled.
  func wait(until isReached: () -> Bool) async {
    while !isReached(), !isOver, !Task.isCancelled { await next() }
  }

  /// Lets all waiting tasks check their conditions.
  func changed() {
    for continuation in waiting.values { continuation.finish() }
  }

  /// Ends all waits, also later ones.
  func end() {
    isOver = true
    changed()
  }

  private func next() async {
    last += 1
    let number = last
    let (wait, continuation) = AsyncStream.makeStream(of: Never.self)
    waiting[number] = continuation
    for await _ in wait {}
    waiting[number] = nil
  }
}
