import HoldfastCore

@testable import HoldfastServerParts

/// A source of random choices for a server's policy. It is used before the run exists.
struct PolicyDraw: RandomValues {
  var generator: RandomSource

  /// Sets each of the given numbers of a policy, with a probability of one in three, to a random
  /// value.
  mutating func set<Policy, Value>(
    _ policy: inout Policy, _ numbers: [(WritableKeyPath<Policy, Value>, [Value])]
  ) {
    for (number, values) in numbers where oneIn(3) { policy[keyPath: number] = one(values) }
  }

  mutating func set<Policy>(
    _ policy: inout Policy, milliseconds times: [(WritableKeyPath<Policy, Duration>, [Int])]
  ) {
    for (time, values) in times where oneIn(3) {
      policy[keyPath: time] = .milliseconds(one(values))
    }
  }

  mutating func set<Policy>(
    _ policy: inout Policy, seconds times: [(WritableKeyPath<Policy, Duration>, [Int])]
  ) {
    for (time, values) in times where oneIn(3) { policy[keyPath: time] = .seconds(one(values)) }
  }
}

/// Notes about a server's process that are taken from its inputs and effects.
struct ServerNotes {
  /// The upgrade requests that have not been answered.
  var asked: Set<ConnectionID> = []
  /// The accepted connections that have not been closed.
  private(set) var open: [ConnectionID] = []
  /// The closed or dropped connections whose end has not been reported.
  private(set) var ending: [ConnectionID] = []
  fileprivate var drainedAt: Instant?
  private var last: UInt64 = 0

  /// Discards the notes about a process. Numbers stay unique.
  mutating func restart() {
    (asked, open, ending, drainedAt) = ([], [], [], nil)
  }

  /// Returns a number that has not been used before.
  mutating func fresh() -> UInt64 {
    last += 1
    return last
  }

  /// Records that a connection has ended.
  mutating func end(_ id: ConnectionID) {
    asked.remove(id)
    open.removeAll { $0 == id }
    ending.removeAll { $0 == id }
  }

  /// Records an effect on a connection. Returns whether the connection exists in a state that
  /// permits the effect.
  fileprivate mutating func note(_ effect: ConnectionEffect, of id: ConnectionID) -> Bool {
    let (isAsked, isOpen, isEnding) = (asked.contains(id), open.contains(id), ending.contains(id))
    switch effect {
    case .accept:
      asked.remove(id)
      open.append(id)
      return isAsked
    case .refuse: return asked.remove(id) != nil
    case .send, .ping: return isOpen
    case .close:
      open.removeAll { $0 == id }
      if !isEnding { ending.append(id) }
      return isOpen
    case .drop:
      if isOpen, !isEnding { ending.append(id) }
      return isAsked || isOpen || isEnding
    }
  }
}

/// An effect that any server can have on a connection.
enum ConnectionEffect: String {
  case accept, refuse, send, ping, close, drop
}

/// A generator of inputs for a server machine.
protocol ServerInputs: InputGenerator where Subject: ServerRules {
  var notes: ServerNotes { get set }
  /// The maximum time from the start of a drain to its end.
  var drainLimit: Duration { get }
}

extension ServerInputs {
  /// Records a failure if a property does not hold.
  mutating func require(_ holds: Bool, _ property: String) {
    if !holds { run.fail(property) }
  }

  /// Checks that each upgrade is answered once, and that effects only refer to existing
  /// connections.
  mutating func check(_ effect: ConnectionEffect, of id: ConnectionID) {
    require(notes.note(effect, of: id), "there is a connection for \(effect.rawValue)")
  }

  mutating func noteDrain() {
    if notes.drainedAt == nil { notes.drainedAt = now }
  }

  /// Checks that a drain ends within its time limit.
  mutating func checkDrain(_ step: MachineStep<Subject>) {
    guard step.input == nil, let drainedAt = notes.drainedAt else { return }
    let isDue = now >= drainedAt.advanced(by: drainLimit)
    require(!isDue || step.after.isFinished, "a drain ends within its time limit")
  }

  /// Returns an open connection, or rarely one that never existed.
  mutating func anySocket() -> ConnectionID {
    notes.open.isEmpty || oneIn(60) ? ConnectionID(9_999) : one(notes.open)
  }
}
