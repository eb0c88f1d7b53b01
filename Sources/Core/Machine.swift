/// A value that takes what happened and `now`, and answers with what to do.
///
/// The link and every feature's model have this shape, so one runtime, one journal, one replay and
/// one simulator serve them all. After every call all of its invariants hold.
public protocol Machine: Sendable, SelfChecking {
  /// Everything that can happen to it.
  associatedtype Input: Sendable, Equatable, Codable
  /// Everything it can ask for. Effects are carried out in order.
  associatedtype Effect: Sendable, Equatable, Codable

  /// Takes one input. `now` never goes back between calls.
  mutating func handle(_ input: Input, at now: Instant) -> [Effect]

  /// Lets time pass; call it when `deadline` has come. Calling early or twice changes nothing.
  mutating func tick(at now: Instant) -> [Effect]

  /// The one instant to be woken at; `nil` when only an input can change anything.
  var deadline: Instant? { get }
}

/// A machine whose runs can be journaled and replayed.
public protocol Journaled: Machine {
  /// What the machine is made from, besides its seed; never a secret.
  ///
  /// Its properties become fields of the journal's header. They must not be named like the
  /// header's own: `journal`, `machine`, `part`, `seed`, `startedAt`.
  associatedtype Birth: Codable & Sendable & Hashable

  /// The machine's name in journals.
  static var journalName: String { get }

  /// Makes the same machine from the same values.
  ///
  /// - Parameter seed: the start of its random numbers.
  init(_ birth: Birth, seed: UInt64)
}

extension HeldLink: Journaled {
  public static var journalName: String { "link" }

  /// The policy of a link.
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
  /// The elements that satisfy it must come before all others, as in a sorted list.
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
