import HoldfastTestKit

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
  /// Returns the figures that a script prints, one a line, as a name and a number. A name with a dot
  /// is that of an additional count.
  ///
  /// - Parameter labels: The names of additional counts in the table, by the part after the dot.
  static func figures(of program: LabProcess, _ labels: [String: String]) async throws -> Figures {
    var figures: Figures = [:]
    for await line in program.lines {
      let words = line.split(separator: " ")
      guard words.count == 2, let value = Double(words[1]) else { continue }
      let name = words[0].split(separator: ".").map(String.init)
      if name.count == 1 {
        figures[name[0]] = Measurement(value)
      } else {
        figures[name[0]]?.beside.append((labels[name[1]] ?? name[1], value))
      }
    }
    guard !figures.isEmpty else {
      throw Unavailable(await program.diagnostics.reduce("it ended without a word") { $1 })
    }
    return figures
  }

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
