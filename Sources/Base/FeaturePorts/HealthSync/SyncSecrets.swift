package import HoldfastCore
package import HoldfastPorts
import HoldfastUploads
import Synchronization

/// The secret of a sync's requests, and its source.
///
/// Concurrent requests share one call of the source, whose time is limited.
package final class SyncSecrets: Sendable {
  package typealias Source = @Sendable () async throws(LinkFailure) -> String
  /// The secret that a call returned, and whether it differs from the one that the server refused.
  private typealias Answer = Result<(secret: String, isNew: Bool), LinkFailure>

  private struct State {
    var secret = UploadSecret<String>()
    /// The requests that wait for the pending call. There is a call exactly while one waits.
    var waiting: [CheckedContinuation<Answer, Never>] = []
    /// The pending call, and the timer that limits it.
    var tasks: [Task<Void, Never>] = []
    /// The number of calls so far, by which an answer that comes too late is recognized.
    var calls: UInt64 = 0
    var isEnded = false
  }

  private let source: Source
  private let limit: Duration
  private let clock: any LinkClock
  private let state = Mutex(State())

  /// Creates a secret that was not read yet.
  ///
  /// - Parameters:
  ///   - limit: The time limit of a call. A later answer is ignored.
  ///   - source: A closure that returns the secret. It is called once at a time.
  package init(limit: Duration, clock: any LinkClock, _ source: @escaping Source) {
    (self.source, self.limit, self.clock) = (source, limit, clock)
  }

  /// Returns the secret, which is read at its first use.
  ///
  /// - Throws: The failure of the source; `.local` if it did not answer in time.
  package func present() async throws(LinkFailure) -> String {
    if let current = state.withLock({ $0.secret.current }) { return current }
    return try await read().secret
  }

  /// Reads the secret again. Returns whether it differs from the one that the server refused.
  package func renew() async -> Bool { (try? await read())?.isNew ?? false }

  /// Records the failure of a request that used a secret.
  package func note(_ failure: LinkFailure, of secret: String) {
    state.withLock { $0.secret.note(failure, of: secret) }
  }

  /// Accepts requests, which read the secret again: it may be that of another user.
  package func begin() { reset(isEnded: false) }

  /// Ends the pending call, forgets the secret, and refuses requests until the next `begin`.
  package func end() { reset(isEnded: true) }

  private func reset(isEnded: Bool) {
    let calls = state.withLock { state in
      (state.secret, state.isEnded) = (UploadSecret(), isEnded)
      return state.calls
    }
    finish(calls, .failure(Self.ended))
  }

  private static let ended = LinkFailure.local(detail: "the sync has ended")

  private func read() async throws(LinkFailure) -> (secret: String, isNew: Bool) {
    let answer: Answer = await withCheckedContinuation { continuation in
      let isRefused = state.withLock { state in
        guard !state.isEnded else { return true }
        state.waiting.append(continuation)
        if state.waiting.count == 1 {
          state.calls += 1
          state.tasks = tasks(of: state.calls)
        }
        return false
      }
      if isRefused { continuation.resume(returning: .failure(Self.ended)) }
    }
    return try answer.get()
  }

  /// Begins a call.
  ///
  /// It has two tasks, because a source may never return, even when its task is cancelled.
  private func tasks(of call: UInt64) -> [Task<Void, Never>] {
    let deadline = clock.now.advanced(by: limit)
    let asking = Task { [weak self, source] in
      do throws(LinkFailure) {
        let secret = try await source()
        self?.finish(call, .success(secret))
      } catch {
        self?.finish(call, .failure(error))
      }
    }
    let timing = Task { [weak self, clock, limit] in
      guard (try? await clock.wait(until: deadline)) != nil else { return }
      let late = "there is no secret: the source did not answer within \(limit.text)"
      self?.finish(call, .failure(.local(detail: late)))
    }
    return [asking, timing]
  }

  private func finish(_ call: UInt64, _ result: Result<String, LinkFailure>) {
    let (tasks, waiting, answer) = state.withLock { state in
      guard call == state.calls, !state.waiting.isEmpty else {
        return ([Task<Void, Never>](), [CheckedContinuation<Answer, Never>](), nil as Answer?)
      }
      defer { (state.tasks, state.waiting) = ([], []) }
      let answer: Answer = result.map { ($0, state.secret.renew($0)) }
      return (state.tasks, state.waiting, answer)
    }
    guard let answer else { return }
    for task in tasks { task.cancel() }
    for continuation in waiting { continuation.resume(returning: answer) }
  }
}
