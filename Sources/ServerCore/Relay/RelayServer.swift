public import LinkCore
import LinkWire

/// The relay between assistants and phones as a value.
public struct RelayServer: Machine {
  let policy: RelayServerPolicy
  var mode = Mode.serving
  var metrics = RelayMetrics()
  var storeFailure: StoreFailure?
  var present: Int { 0 }
  var phones: [PhoneID: Int] = [:]
  var calls: [UInt64: Int] = [:]
  var accesses: [TokenHash: Int] = [:]

  enum Mode { case serving, finished }

  /// A relay that begins at `now`; `life` goes into the ids of its questions: give each run its own.
  public init(policy: RelayServerPolicy = RelayServerPolicy(), life: String, at now: Instant) {
    self.policy = policy.workable
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    switch input {
    case .drain: [.finished]
    case .ask(let id, _, _, _, _): [.answer(id, .refused(.notSignedIn))]
    case .phoneOpened(let id, _, _): [.refuse(id, .error(503, "not yet"))]
    case .restored, .heard, .phoneSaid, .phoneUnreadable, .overflowed, .phoneGone, .abandoned,
      .pull, .minted, .stored, .pushed:
      []
    }
  }

  /// Lets pings, deadlines, leases and the drain come due.
  public mutating func tick(at now: Instant) -> [Effect] { [] }

  /// The next instant at which something may be due; early at most, never late.
  public var deadline: Instant? { nil }
}
