public import LinkCore

/// Tells a fresh machine what a recorded one was told, at the same instants, and compares.
public enum Replay<M: Machine> {
  /// A step whose effects were not those recorded.
  public struct Divergence: Sendable, Equatable {
    /// The file, one of the run's two.
    public var path: String
    /// The line of what happened, counted from 1.
    public var line: Int
    /// What the machine was told.
    public var cause: JournalStep<M>.Cause
    /// What was recorded.
    public var expected: [M.Effect]
    /// What came out now.
    public var got: [M.Effect]

    public init(
      path: String, line: Int, cause: JournalStep<M>.Cause, expected: [M.Effect], got: [M.Effect]
    ) {
      self.path = path
      self.line = line
      self.cause = cause
      self.expected = expected
      self.got = got
    }
  }

  /// What a replay found.
  public struct Result: Sendable {
    /// Steps replayed.
    public var steps: UInt64 = 0
    /// Steps that diverged.
    public var diverged: UInt64 = 0
    /// The first of them, up to the limit; what follows one is usually its consequence.
    public var divergences: [Divergence] = []
    /// The machine after the last step.
    public var machine: M
  }

  /// Replays a run: `path`.1 first if it holds the part before, then `path`.
  ///
  /// - Parameters:
  ///   - limit: How many divergences are kept.
  ///   - watch: Sees each recorded step, and the machine after it.
  ///   - make: Makes the machine that the header describes.
  /// - Throws: When a file cannot be read, the run's first part is gone, or `make` throws.
  public static func run(
    journal path: String, limit: Int = 20, watch: (JournalStep<M>, M) -> Void = { _, _ in },
    make: (JournalHeader) throws -> M
  ) throws(JournalError) -> Result {
    let last = try JournalReader<M>(path: path)
    let header = last.header
    var paths = [path]
    if header.part == 2, let first = try? JournalReader<M>(path: path + ".1"),
      first.header.part == 1, first.header.startedAt == header.startedAt
    {
      paths.insert(path + ".1", at: 0)
    } else if header.part != 1 {
      throw JournalError(path: path, .beginning(part: header.part))
    }
    let machine: M
    do {
      machine = try make(header)
    } catch {
      throw JournalError(path: path, .machine("\(error)"))
    }
    var result = Result(machine: machine)
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
