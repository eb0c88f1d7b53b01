import HoldfastCore
import HoldfastPorts

/// A reader of a secret. Concurrent requests share one call of the source, whose time is limited.
actor SecretReader {
  typealias Source = @Sendable () async throws(LinkFailure) -> String
  private typealias Answer = Result<String, LinkFailure>

  private let source: Source
  private let limit: Duration
  private let clock: any LinkClock
  /// The requests that wait for the pending call. There is a call exactly while one waits.
  private var waiting: [CheckedContinuation<Answer, Never>] = []
  /// The pending call, and the timer that limits it.
  private var tasks: [Task<Void, Never>] = []
  /// The number of calls so far, by which an answer that comes too late is recognized.
  private var calls: UInt64 = 0
  private var isEnded = false

  /// Creates a reader.
  ///
  /// - Parameters:
  ///   - limit: The time limit of a call. A later answer is ignored.
  ///   - source: A closure that returns the secret.
  init(limit: Duration, clock: any LinkClock, _ source: @escaping Source) {
    (self.source, self.limit, self.clock) = (source, limit, clock)
  }

  /// Returns the secret.
  ///
  /// - Throws: The failure of the source; `.local` if it did not answer in time.
  func secret() async throws(LinkFailure) -> String {
    guard !isEnded else { throw Self.ended }
    let answer: Answer = await withCheckedContinuation { continuation in
      waiting.append(continuation)
      if waiting.count == 1 { begin() }
    }
    return try answer.get()
  }

  /// Ends the pending call, and refuses further requests.
  func end() {
    isEnded = true
    finish(calls, .failure(Self.ended))
  }

  private static let ended = LinkFailure.local(detail: "the sync has ended")

  private func begin() {
    calls += 1
    let (call, deadline) = (calls, clock.now.advanced(by: limit))
    // Two tasks, because a source may never return, even when its task is cancelled.
    let asking = Task { [weak self, source] in
      do throws(LinkFailure) {
        let secret = try await source()
        await self?.finish(call, .success(secret))
      } catch {
        await self?.finish(call, .failure(error))
      }
    }
    let timing = Task { [weak self, clock, limit] in
      guard (try? await clock.wait(until: deadline)) != nil else { return }
      let late = "there is no secret: the source did not answer within \(limit.text)"
      await self?.finish(call, .failure(.local(detail: late)))
    }
    tasks = [asking, timing]
  }

  private func finish(_ call: UInt64, _ answer: Answer) {
    guard call == calls, !waiting.isEmpty else { return }
    for task in tasks { task.cancel() }
    let ended = waiting
    (waiting, tasks) = ([], [])
    for continuation in ended { continuation.resume(returning: answer) }
  }
}
