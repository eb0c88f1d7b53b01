import HoldfastCore
import HoldfastHealthRelay

/// The state of a pairing, in words.
struct PairingText: Sendable, Hashable {
  /// The next action of the user.
  enum Action: Sendable, Hashable {
    /// Start the relay.
    case start
    /// Connect again after a failure.
    case retry
  }

  /// A code to show, with what a screen reader says of it.
  struct Code: Sendable, Hashable {
    let code: String
    let word: String
    /// The code and the word, with the digits apart.
    let spoken: Phrase
    /// The lifetime of an unused code; `nil` if it is unknown.
    let validity: Phrase?

    init(_ pair: RelayPair) {
      (code, word) = (pair.code.text, pair.word.text)
      spoken = Phrase(
        "pairing.spoken", code.map(String.init).joined(separator: " ") + ", " + word)
      validity = pair.expiresIn.map { time in
        // The server drops the code at the end, so the last minute is not promised.
        Phrase("pairing.valid", max(1, Int(time.components.seconds / 60)))
      }
    }
  }

  let title: Phrase
  /// Whether something is in progress.
  let isBusy: Bool
  /// The code; `nil` unless an assistant can use it now.
  let code: Code?
  let action: Action?
  /// Whether there is a pairing to forget.
  let canForget: Bool

  init(_ state: ConnectionState, _ pair: RelayPair?) {
    let isLive = state.phase == .live || state.phase == .polling
    code = isLive ? pair.map { Code($0) } : nil
    isBusy = state.phase == .connecting || state.phase == .reconnecting
    canForget = state.phase != .off || state.failure != nil
    switch state.phase {
    case .live, .polling:
      (title, action) = (Phrase(code == nil ? "pairing.running" : "pairing.code"), nil)
    case .connecting: (title, action) = (Phrase("pairing.starting"), nil)
    case .reconnecting: (title, action) = (Phrase("pairing.reconnecting"), nil)
    case .off where state.failure != nil: (title, action) = (Phrase("pairing.failed"), .retry)
    case .off: (title, action) = (Phrase("pairing.none"), .start)
    }
  }
}

extension Phrase {
  /// Creates the text of a problem; `nil` if the user can do nothing, or the connection says it.
  init?(_ problem: RelayProblem) {
    switch problem {
    case .inBackground: self.init("pairing.problem.background")
    case .unreadable: self.init("pairing.problem.unreadable")
    case .busy: self.init("pairing.problem.busy")
    case .connection, .malformed, .unknownType, .oversized: return nil
    }
  }

  /// Creates the text of a question's end.
  init(_ outcome: RelayReceipt.Outcome) {
    switch outcome {
    case .answered(let points, isTruncated: _): self.init("pairing.answered", points)
    case .refused: self.init("pairing.refused")
    case .cancelled: self.init("pairing.cancelled")
    case .dropped: self.init("pairing.dropped")
    }
  }

  /// Creates the text of a change of an assistant's access that had no effect.
  init(_ failure: AccessFailure) {
    switch failure {
    case .notSynced: self.init("access.failure.notSynced")
    case .unsupported: self.init("access.failure.unsupported")
    case .ended: self.init("access.failure.ended")
    case .unreachable: self.init("access.failure.unreachable")
    case .store: self.init("store.failed")
    }
  }
}
