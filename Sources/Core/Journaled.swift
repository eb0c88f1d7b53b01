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
