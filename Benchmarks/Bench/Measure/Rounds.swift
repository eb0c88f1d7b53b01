/// Runs of something that takes many figures at once; each run serves as one round of several
/// benchmarks, so that none is made twice.
actor Rounds {
  /// Figures by their names.
  typealias Figures = [String: Measurement]

  private let play: @Sendable () async throws -> Figures
  private var runs: [Task<Figures, any Error>] = []

  init(_ play: @escaping @Sendable () async throws -> Figures) { self.play = play }

  /// A contender whose figures are those of a name, round after round.
  nonisolated func contender(_ name: String, aim: Double? = nil, figure: String) -> Contender {
    let turn = Turn()
    return Contender(
      name: name, aim: aim,
      measuring: { [self] in
        let figures = try await run(await turn.next()).value
        guard let found = figures[figure] else { throw Unavailable("\(figure) was not measured") }
        return found
      })
  }

  private func run(_ round: Int) -> Task<Figures, any Error> {
    while runs.count <= round { runs.append(Task { [play] in try await play() }) }
    return runs[round]
  }

  private actor Turn {
    private var count = 0

    func next() -> Int {
      defer { count += 1 }
      return count
    }
  }
}

extension Rounds {
  /// Something that is made once, by whoever needs it first.
  actor Shared<Value: Sendable> {
    private let make: @Sendable () async throws -> Value
    private var task: Task<Value, any Error>?

    init(_ make: @escaping @Sendable () async throws -> Value) { self.make = make }

    var value: Value {
      get async throws {
        let task = task ?? Task { [make] in try await make() }
        self.task = task
        return try await task.value
      }
    }
  }
}
