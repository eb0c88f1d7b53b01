package import HoldfastCore

/// A replay of a journal: a new machine receives the recorded inputs at the recorded times.
///
/// The effects of the new machine are compared with the recorded ones.
package enum Replay<M: Journaled> {
  /// A step whose effects differ from the recorded ones.
  package struct Divergence: Sendable, Equatable {
    /// The path of the file. A run has up to two files.
    package var path: String
    /// The number of the line with the cause, counted from 1.
    package var line: Int
    /// The cause of the step.
    package var cause: JournalStep<M>.Cause
    /// The recorded effects.
    package var expected: [M.Effect]
    /// The effects in the replay.
    package var got: [M.Effect]

    package init(
      path: String, line: Int, cause: JournalStep<M>.Cause, expected: [M.Effect], got: [M.Effect]
    ) {
      self.path = path
      self.line = line
      self.cause = cause
      self.expected = expected
      self.got = got
    }
  }

  /// The result of a replay.
  package struct Result: Sendable {
    /// The number of replayed steps.
    package var steps: UInt64 = 0
    /// The number of steps that diverged.
    package var diverged: UInt64 = 0
    /// The first divergences, up to the limit. Later divergences usually follow from the first.
    package var divergences: [Divergence] = []
    /// The machine after the last step.
    package var machine: M
  }

  /// Replays a run. The file `path`.1 is replayed first if it contains the previous part, then
  /// `path`.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of divergences that are kept.
  ///   - begin: A function that is called with the new machine.
  ///   - watch: A function that is called with each recorded step, the line of its cause, and the
  ///     machine after that step.
  ///   - notes: A function that is called with each note and its line, between the steps.
  /// - Throws: An error if a file cannot be read or belongs to another machine, or if the first
  ///   part of the run is missing.
  package static func run(
    journal path: String, limit: Int = 20, begin: (M) -> Void = { _ in },
    watch: (JournalStep<M>, _ line: Int, M) -> Void = { _, _, _ in },
    notes: (JournalNote, _ line: Int) -> Void = { _, _ in }
  ) throws(JournalError) -> Result {
    let header = try JournalReader<M>(path: path).header
    var paths = [path]
    if header.part == 2, let first = try? JournalReader<M>(path: path + ".1"),
      first.header.part == 1, first.header.startedAt == header.startedAt
    {
      paths.insert(path + ".1", at: 0)
    } else if header.part != 1 {
      throw JournalError(path: path, .beginning(part: header.part))
    }
    var result = Result(machine: M(header.birth, seed: header.seed))
    begin(result.machine)
    for path in paths {
      try replay(path, limit: limit, watch, notes, into: &result)
    }
    return result
  }

  private static func replay(
    _ path: String, limit: Int, _ watch: (JournalStep<M>, _ line: Int, M) -> Void,
    _ notes: (JournalNote, _ line: Int) -> Void, into result: inout Result
  ) throws(JournalError) {
    var reader = try JournalReader<M>(path: path)
    while let step = try reader.next(notes: notes) {
      let got =
        switch step.cause {
        case .input(let input): result.machine.handle(input, at: step.at)
        case .tick: result.machine.tick(at: step.at)
        }
      result.steps += 1
      watch(step, reader.line, result.machine)
      guard got != step.effects else { continue }
      result.diverged += 1
      guard result.divergences.count < limit else { continue }
      result.divergences.append(
        Divergence(
          path: path, line: reader.line, cause: step.cause, expected: step.effects, got: got))
    }
  }
}
