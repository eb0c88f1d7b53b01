/// A value that takes inputs and the current time, and returns effects.
///
/// The link and every feature's model are machines, so they share one runtime, one journal, one
/// replay and one simulator. All invariants of a machine hold after every call.
public protocol Machine: Sendable, SelfChecking {
  /// An event that the machine handles.
  associatedtype Input: Sendable, Equatable, Codable
  /// An instruction to the caller, which carries out effects in order.
  associatedtype Effect: Sendable, Equatable, Codable

  /// Handles one input. `now` never decreases between calls.
  mutating func handle(_ input: Input, at now: Instant) -> [Effect]

  /// Handles the deadlines that have passed by `now`. An early or repeated call changes nothing.
  mutating func tick(at now: Instant) -> [Effect]

  /// The next time at which `tick` must be called; `nil` if only an input can change anything.
  var deadline: Instant? { get }
}

/// A machine whose runs can be journaled and replayed.
public protocol Journaled: Machine {
  /// The values from which the machine is created, except its seed. They never contain a secret.
  ///
  /// Its properties become fields of the journal's header. They must not have the names of the
  /// header's own fields: `journal`, `machine`, `part`, `seed`, `startedAt`.
  associatedtype Birth: Codable & Sendable & Hashable

  /// The machine's name in journals.
  static var journalName: String { get }

  /// Creates the machine. The same values and seed create the same machine.
  ///
  /// - Parameter seed: The seed of the machine's random source.
  init(_ birth: Birth, seed: UInt64)
}

extension HeldLink: Journaled {
  public static var journalName: String { "link" }

  /// The value from which a link is created.
  public struct Birth: Codable, Sendable, Hashable {
    var policy: LinkPolicy

    public init(policy: LinkPolicy) {
      self.policy = policy
    }
  }

  public init(_ birth: Birth, seed: UInt64) {
    self.init(policy: birth.policy, seed: seed)
  }
}

extension RandomAccessCollection {
  /// Returns the first index whose element does not satisfy `precedes`, by binary search.
  ///
  /// The elements that satisfy `precedes` must come before all others, as in a sorted list.
  @inlinable
  package func end(where precedes: (Element) -> Bool) -> Index {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = index(low, offsetBy: distance(from: low, to: high) / 2)
      if precedes(self[middle]) { low = index(after: middle) } else { high = middle }
    }
    return low
  }
}
