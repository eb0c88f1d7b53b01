import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorldKernel

/// A checker that detects a socket that outlives the token with which it was admitted.
///
/// The server must end the socket within 6 s after the token expires. This includes 5 s for the
/// answer to its close frame.
struct Lifetimes: StreamChecker {
  private(set) var found = Findings()
  /// The time at which the token of each attempt expires.
  private var ends: [AttemptID: Instant] = [:]
  /// The sockets that the server holds.
  private var held: Set<AttemptID> = []
  /// The time at which the first of these sockets must have ended.
  private var next: Instant?

  static let slack = Duration.seconds(6)

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {}

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    switch seen {
    case .launched:
      ends = [:]
      held = []
    case .fact(.admitted(let attempt, let end)): ends[attempt] = end
    case .upgraded(_, let attempt, status: 101): held.insert(attempt)
    case .serverLost(_, let attempt):
      held.remove(attempt)
      ends[attempt] = nil
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .wentDead, .server, .began,
      .ended,
      .calm, .fact:
      return
    }
    next = held.compactMap { ends[$0] }.min()?.advanced(by: Self.slack)
  }

  mutating func stepEnded(_ facts: Facts) {
    guard let next, next < facts.now else { return }
    self.next = nil
    let late = next.duration(to: facts.now) + Self.slack
    found.add(.outlived, at: facts.now, "a socket is still open \(late) after its token expired")
  }
}
