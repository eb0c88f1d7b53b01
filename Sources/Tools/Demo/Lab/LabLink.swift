import HoldfastCore
import HoldfastLinkTrace

/// A link of the lab: an app and the trace of its journal.
final class LabLink {
  let feature: any LabFeature
  let phone: Phone
  let path: LabPath
  let trace: any LiveTrace
  private let startedAt: Timestamp
  /// Whether the app is not running, and will be launched again.
  var isKilled = false
  /// The places of the journal's facts among all facts of the trace.
  private var places: [Int] = []
  /// The number of facts in the trace; `nil` until its header is known.
  private var count: Int?

  init(
    _ feature: any LabFeature, _ phone: Phone, _ path: LabPath, _ trace: any LiveTrace,
    startedAt: Timestamp
  ) {
    (self.feature, self.phone, self.path, self.trace) = (feature, phone, path, trace)
    self.startedAt = startedAt
  }

  /// Returns the events for what the journal tells since the last call.
  func look(_ now: Duration) -> [LabEvent] {
    let facts = trace.read()
    var events = header(now)
    guard var count else { return events }
    for fact in facts {
      var fact = fact
      fact.cause = fact.cause.map { places[$0] }
      places.append(count)
      count += 1
      events.append(.fact(link: feature.name, fact))
    }
    self.count = count
    if let problem = trace.takeProblem() {
      let fact = TraceFact.world(.note(.device), at: now, problem)
      events += add(fact)?.events ?? []
    }
    return events
  }

  /// Adds a fact about the world. Returns its place and its event; `nil` before the trace began.
  func add(_ fact: TraceFact) -> (place: Int, events: [LabEvent])? {
    guard let place = count else { return nil }
    count = place + 1
    return (place, [.fact(link: feature.name, fact)])
  }

  /// Returns the header when it becomes known.
  private func header(_ now: Duration) -> [LabEvent] {
    guard count == nil, let policy = trace.policy else { return [] }
    count = 0
    let header = TraceHeader(
      .live, machine: trace.machine, name: feature.title, startedAt: startedAt, end: now,
      policy: policy, hasWorld: true)
    return [.trace(link: feature.name, header)]
  }
}
