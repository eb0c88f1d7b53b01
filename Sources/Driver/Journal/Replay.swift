package import LinkCore

/// The replay of a journal: a new machine gets the recorded inputs at the recorded instants.
///
/// Its effects are compared with the recorded ones.
package enum Replay<M: Journaled> {
  /// A step whose effects differ from the recorded ones.
  package struct Divergence: Sendable, Equatable {
    /// The file; a run has up to two.
    package var path: String
    /// The line of the cause, counted from 1.
    package var line: Int
    /// The cause of the step.
    package var cause: JournalStep<M>.Cause
    /// The recorded effects.
    package var expected: [M.Effect]
    /// The effects of the replay.
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
    /// Steps replayed.
    package var steps: UInt64 = 0
    /// Steps that diverged.
    package var diverged: UInt64 = 0
    /// The first of them, up to the limit; later ones usually follow from the first.
    package var divergences: [Divergence] = []
    /// The machine after the last step.
    package var machine: M
  }

  /// Replays a run: `path`.1 first if it holds the part before, then `path`.
  ///
  /// - Parameters:
  ///   - limit: the number of divergences that are kept.
  ///   - begin: called with the new machine.
  ///   - watch: called with each recorded step, and the machine after it.
  /// - Throws: if a file cannot be read or is of another machine, or the run's first part is gone.
  package static func run(
    journal path: String, limit: Int = 20, begin: (M) -> Void = { _ in },
    watch: (JournalStep<M>, M) -> Void = { _, _ in }
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
      try replay(path, limit: limit, watch, into: &result)
    }
    return result
  }

  private static func replay(
    _ path: String, limit: Int, _ watch: (JournalStep<M>, M) -> Void, into result: inout Result
  ) throws(JournalError) {
    var reader = try JournalReader<M>(path: path)
    while let step = try reader.next() {
      let got =
        switch step.cause {
        case .input(let input): result.machine.handle(input, at: step.at)
        case .tick: result.machine.tick(at: step.at)
        }
      result.steps += 1
      watch(step, result.machine)
      guard got != step.effects else { continue }
      result.diverged += 1
      guard result.divergences.count < limit else { continue }
      result.divergences.append(
        Divergence(
          path: path, line: reader.line, cause: step.cause, expected: step.effects, got: got))
    }
  }
}
