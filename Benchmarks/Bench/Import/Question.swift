import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastPorts
import HoldfastSQLiteStores

/// A question about a store with an imported export, timed until the answer is complete.
enum Question {
  /// Returns the time, in milliseconds, to answer a question about the merged steps of each day of
  /// a year.
  static func days(in directory: String) async throws -> Double {
    let store = try await SQLiteHealthStore.open(in: directory)
    let start = ContinuousClock.now
    _ = try await pages(of: try question(), in: store)
    let time = start.duration(to: .now).inSeconds
    await store.close()
    return time * 1_000
  }

  /// Returns the time, in milliseconds, to read the pages of the same question without computing an
  /// answer.
  static func reading(in directory: String) async throws -> Double {
    let store = try await SQLiteHealthStore.open(in: directory)
    let queries = try await pages(of: try question(), in: store)
    let start = ContinuousClock.now
    for query in queries { _ = try await store.samples(query) }
    let time = start.duration(to: .now).inSeconds
    await store.close()
    return time * 1_000
  }

  private static func question() throws -> HealthQuestion {
    // The generated export starts 18,000 days after 1970-01-01.
    guard let start = HealthTime("2019-04-14"), let end = HealthTime("2020-04-13") else {
      throw Unavailable("no dates")
    }
    return .healthData(
      HealthDataQuery(valueType: .steps, start: start, end: end, groupBy: .day))
  }

  /// Answers a question and returns the pages that it read.
  private static func pages(
    of question: HealthQuestion, in store: SQLiteHealthStore
  ) async throws -> [HealthSampleQuery] {
    var answering = HealthAnswering(
      question, zone: ZoneRules(initialSecondsEast: 0), now: BootClock().wall, limits: .parts,
      stored: try await store.stored())
    var queries: [HealthSampleQuery] = []
    while case .read(let query) = answering.step {
      queries.append(query)
      answering.take(try await store.samples(query))
    }
    guard answering.points > 30, !queries.isEmpty else { throw Unavailable("nothing was answered") }
    return queries
  }
}
