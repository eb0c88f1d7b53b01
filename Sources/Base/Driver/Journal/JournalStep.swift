package import HoldfastCore

/// One step of a machine: the time, the cause, and the effects.
package struct JournalStep<M: Machine>: Sendable, Equatable {
  /// The cause of a step.
  package enum Cause: Sendable, Equatable {
    case input(M.Input)
    /// The deadline of the machine was reached.
    case tick

    /// The input; `nil` if the deadline was reached.
    package var input: M.Input? {
      switch self {
      case .input(let input): input
      case .tick: nil
      }
    }
  }

  /// The time at which the machine was called.
  package var at: Instant
  /// The cause of the step.
  package var cause: Cause
  /// The effects that the machine returned, in order.
  package var effects: [M.Effect]

  package init(at: Instant, cause: Cause, effects: [M.Effect]) {
    self.at = at
    self.cause = cause
    self.effects = effects
  }
}

/// A line after the header. A step has two lines: one for the cause, then one for the effects. A
/// note has one.
struct JournalLine<M: Machine>: Codable {
  var at: Instant
  var input: M.Input?
  var tick: Bool?
  var out: [M.Effect]?
  var note: NoteFields?

  enum CodingKeys: String, CodingKey {
    case at, tick, out, note
    case input = "in"
  }
}

extension JournalStep {
  var lines: [JournalLine<M>] {
    let first = JournalLine<M>(at: at, input: cause.input, tick: cause == .tick ? true : nil)
    return [first, JournalLine(at: at, out: effects)]
  }
}
