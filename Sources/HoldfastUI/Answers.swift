/// Results of numbered requests, on their way to the tasks that wait for them.
@MainActor final class Answers<Answer: Sendable> {
  private var waiting: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
  private var early: [UInt64: Answer] = [:]
  private var isOver = false

  /// Returns the result of a request, or `nil` if none comes any more. One task waits for each.
  func answer(to number: UInt64) async -> Answer? {
    if let known = early.removeValue(forKey: number) { return known }
    if isOver { return nil }
    return await withCheckedContinuation { waiting[number] = $0 }
  }

  /// Takes the result of a request.
  func give(_ answer: Answer, to number: UInt64) {
    if let task = waiting.removeValue(forKey: number) {
      task.resume(returning: answer)
    } else {
      early[number] = answer
    }
  }

  /// Ends all waiting.
  func end() {
    isOver = true
    let tasks = waiting.values
    waiting = [:]
    for task in tasks { task.resume(returning: nil) }
  }
}
