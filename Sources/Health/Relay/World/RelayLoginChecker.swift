import HoldfastCore
import HoldfastLinkChecks
import HoldfastRelayChecks
import HoldfastRelayServer
import HoldfastWorldKernel

/// A checker of logins. A pair admits one assistant, once. Guesses are stopped, and lock out only
/// the address that made them.
struct RelayLoginChecker: Sendable {
  /// The pairs that admitted an assistant.
  private var used: Set<String> = []
  /// The times at which each address sent wrong pairs, in this run of the backend.
  private var wrong: [String: [Instant]] = [:]

  mutating func answered(
    _ facts: RelayCallFacts, _ outcome: RelayOutcome, _ now: Instant, _ found: inout Findings
  ) {
    guard let pair = facts.pair else { return }
    let policy = RelayServerPolicy()
    let earlier = wrong[facts.address] ?? []
    switch outcome {
    case .loggedIn:
      if pair.isGuess { found.add(.trespass, at: now, "a guess let \(facts.address) in") }
      if !used.insert(pair.text).inserted {
        found.add(.trespass, at: now, "a pair that was used let \(facts.address) in")
      }
    case .refused(.wrongPair):
      let recent = earlier.filter { $0.duration(to: now) < policy.wrongWindow }
      if recent.count >= policy.wrongPairs {
        found.add(
          .trespass, at: now, "\(facts.address) may guess after \(recent.count) wrong pairs")
      }
      wrong[facts.address] = recent + [now]
    case .refused(.lockedOut):
      let count = earlier.count { $0.duration(to: now) < policy.wrongWindow + policy.lockOut }
      guard count < policy.floodWrongPairs else { return }
      found.add(
        .dishonest, at: now, "\(facts.address) is locked out after \(count) wrong pairs of its own")
    case .renewed, .loggedOut, .data, .refused: return
    }
  }

  /// Discards the recorded wrong pairs. The backend does not store them either.
  mutating func backendEnded() { wrong = [:] }
}
