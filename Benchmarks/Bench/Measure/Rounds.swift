/// Runs of a program that measures many figures at once.
///
/// Each run serves as one round of several benchmarks, so that it does not have to be repeated.
actor Rounds {
  /// Measurements by name.
  typealias Figures = [String: Measurement]

  private let play: @Sendable () async throws -> Figures
  private var runs: [Task<Figures, any Error>] = []

  init(_ play: @escaping @Sendable () async throws -> Figures) { self.play = play }

  /// Returns a contender that takes the figure with a given name from each round.
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
  /// A value that is created once, by the first task that needs it.
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
