#if canImport(Darwin) || canImport(BackgroundSession)
  import HoldfastCore
  import HoldfastPorts
  import HoldfastUploads
  import Synchronization

  /// The pauses for which the server has asked, as they bind a call of `enqueue` in progress.
  ///
  /// An upload that the system has received cannot be held back any more.
  final class UploadPauses: Sendable {
    private let state = Mutex(UploadPause())
    private let clock: any LinkClock

    init(_ clock: any LinkClock) { self.clock = clock }

    /// The last pause of which the listener has learned.
    var known: UploadPause.Number { state.withLock(\.known) }

    /// Forgets the pauses, which may be those of another user.
    func begin() { state.withLock { $0 = UploadPause() } }

    func note(_ failure: LinkFailure) { state.withLock { $0.note(failure, at: clock.now) } }

    /// Returns the failure of uploads that have waited since `known`; `nil` if they may start.
    func failure(since known: UploadPause.Number) -> LinkFailure? {
      state.withLock { $0.failure(since: known, at: clock.now) }
    }

    func number(after outcome: UploadOutcome) -> UploadPause.Number {
      state.withLock { $0.number(after: outcome) }
    }

    func told(_ number: UploadPause.Number) { state.withLock { $0.told(number) } }
  }
#endif
