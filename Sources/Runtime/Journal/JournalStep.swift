public import LinkCore

/// One step of a machine: what happened, when, and what it asked for.
public struct JournalStep<M: Machine>: Sendable, Equatable {
  /// What can make a machine move.
  public enum Cause: Sendable, Equatable {
    case input(M.Input)
    /// Its deadline came.
    case tick
  }

  /// The instant that the machine was given.
  public var at: Instant
  /// What made the machine move.
  public var cause: Cause
  /// What it asked for, in order.
  public var effects: [M.Effect]

  public init(at: Instant, cause: Cause, effects: [M.Effect]) {
    self.at = at
    self.cause = cause
    self.effects = effects
  }
}

/// The first line of a journal: what is needed to make the same machine again.
public struct JournalHeader: Sendable, Hashable, Codable {
  /// The version of the format that this software writes.
  public static let version = 1

  /// The version of the format.
  public var journal = Self.version
  /// Which of the run's files this is, from 1; a full file is continued by the next part.
  public var part = 1
  /// The machine's name.
  public var machine: String
  /// What the link was run with; written as a preset and what differs from it.
  public var policy: LinkPolicy
  /// The start of the machine's chance.
  public var seed: UInt64
  /// The wall clock when the run began; the same in all parts of a run.
  public var startedAt: Timestamp
  /// What else a machine needs to be made; never a secret.
  public var extra: [String: String]

  public init(
    machine: String, policy: LinkPolicy, seed: UInt64, startedAt: Timestamp,
    extra: [String: String] = [:]
  ) {
    self.machine = machine
    self.policy = policy
    self.seed = seed
    self.startedAt = startedAt
    self.extra = extra
  }
}

/// A line after the first. A step is two of them: what happened, then what came out.
struct JournalLine<M: Machine>: Codable {
  var at: Instant
  var input: M.Input?
  var tick: Bool?
  var out: [M.Effect]?

  enum CodingKeys: String, CodingKey {
    case at, tick, out
    case input = "in"
  }
}

extension JournalStep {
  var lines: [JournalLine<M>] {
    var first = JournalLine<M>(at: at)
    switch cause {
    case .input(let input): first.input = input
    case .tick: first.tick = true
    }
    return [first, JournalLine(at: at, out: effects)]
  }
}
