import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// Choices for the policy of a server, made before there is a run.
struct PolicyDraw: RandomSource {
  var chance: Chance

  /// Sets a number of a policy once in three times.
  mutating func set<Policy, Value>(
    _ policy: inout Policy, _ number: WritableKeyPath<Policy, Value>, _ values: [Value]
  ) {
    if oneIn(3) { policy[keyPath: number] = one(values) }
  }
}

/// The connections of a server, as its inputs and effects tell of them.
struct Connections {
  /// Upgrades without an answer.
  private(set) var asked: Set<ConnectionID> = []
  /// Accepted, and neither closed nor dropped.
  private(set) var open: [ConnectionID] = []
  /// Closed or dropped; their ends are still to be told.
  private(set) var ending: [ConnectionID] = []

  var isEmpty: Bool { asked.isEmpty && open.isEmpty && ending.isEmpty }

  func isOpen(_ id: ConnectionID) -> Bool { open.contains(id) }

  mutating func ask(_ id: ConnectionID) { asked.insert(id) }

  /// Opens a connection; returns false if no upgrade of it waits.
  mutating func accept(_ id: ConnectionID) -> Bool {
    open.append(id)
    return asked.remove(id) != nil
  }

  /// Returns false if no upgrade of it waits.
  mutating func refuse(_ id: ConnectionID) -> Bool { asked.remove(id) != nil }

  /// Notes a close frame; returns false unless the connection is open.
  mutating func close(_ id: ConnectionID) -> Bool {
    guard let place = open.firstIndex(of: id) else { return false }
    open.remove(at: place)
    if !ending.contains(id) { ending.append(id) }
    return true
  }

  /// Notes that the server ended a connection; returns false if there is none.
  mutating func drop(_ id: ConnectionID) -> Bool { close(id) || ending.contains(id) }

  /// Notes that the server has a connection ended, which counts as open until it is told the end;
  /// returns false if there is none.
  mutating func cut(_ id: ConnectionID) -> Bool {
    if isOpen(id), !ending.contains(id) { ending.append(id) }
    return ending.contains(id)
  }

  /// Notes that a connection is no more.
  mutating func end(_ id: ConnectionID) {
    asked.remove(id)
    open.removeAll { $0 == id }
    ending.removeAll { $0 == id }
  }
}

/// What holds for every server: counters, the drain and its end.
struct ServerNotes {
  private var counters: [Substring: Double] = [:]
  private var steps = 0
  private var drainedAt: Instant?
  private var isFinished = false

  /// Forgets all, since another process begins.
  mutating func restart() { self = ServerNotes() }

  /// Notes that a drain began, unless one has.
  mutating func drain(at now: Instant) { drainedAt = drainedAt ?? now }

  /// Returns false if the end of a drain was told before, or without a drain.
  mutating func finish() -> Bool {
    defer { isFinished = true }
    return drainedAt != nil && !isFinished
  }

  /// Returns whether a drain that has had its time is over.
  func ends(_ server: some ServerRules, within limit: Duration, at now: Instant) -> Bool {
    guard let drainedAt, now >= drainedAt.advanced(by: limit) else { return true }
    return server.isFinished
  }

  /// Returns false if a counter decreased; looks at each 16th step, since a page takes long.
  mutating func grow(_ server: some ServerRules) -> Bool {
    steps += 1
    guard steps % 16 == 0 else { return true }
    var page = MetricsPage()
    server.report(to: &page)
    var found: [Substring: Double] = [:]
    for line in page.text.split(separator: "\n") where !line.hasPrefix("#") {
      let isCounter = ["_total", "_count", "_bucket"].contains { line.contains($0) }
      guard isCounter, let space = line.lastIndex(of: " ") else { continue }
      found[line[..<space]] = Double(line[space...].dropFirst())
    }
    defer { counters = found }
    return counters.allSatisfy { (found[$0.key] ?? -1) >= $0.value }
  }
}

/// A server of which each process begins with the same kind of input: another one replaces it.
struct Restarting<Server: ServerRules>: ServerRules {
  var server: Server
  private(set) var lives = 0
  let starts: @Sendable (Server.Input) -> Bool
  /// Makes the server of a process, by its number.
  let fresh: @Sendable (Int, Instant) -> Server

  init(
    starts: @escaping @Sendable (Server.Input) -> Bool,
    fresh: @escaping @Sendable (Int, Instant) -> Server
  ) {
    (self.starts, self.fresh, server) = (starts, fresh, fresh(0, .zero))
  }

  mutating func handle(_ input: Server.Input, at now: Instant) -> [Server.Effect] {
    if starts(input) {
      lives += 1
      server = fresh(lives, now)
    }
    return server.handle(input, at: now)
  }

  mutating func tick(at now: Instant) -> [Server.Effect] { server.tick(at: now) }
  var deadline: Instant? { server.deadline }
  func check(_ check: inout InvariantCheck) { server.check(&check) }
  static func drain(within window: Duration) -> Server.Input { Server.drain(within: window) }
  var isFinished: Bool { server.isFinished }
  var serviceHealth: ServiceHealth { server.serviceHealth }
  func report(to page: inout MetricsPage) { server.report(to: &page) }
}

/// A generator of inputs to a server.
protocol ServerInputs: InputGenerator where Subject: ServerRules {
  var notes: ServerNotes { get set }
  /// The longest time from the start of a drain to its end.
  var drainLimit: Duration { get }
}

extension ServerInputs {
  /// Notes a property that does not hold.
  mutating func require(_ holds: Bool, _ property: String) {
    if !holds { run.fail(property) }
  }

  /// Checks what holds for every server.
  mutating func checkServer(_ step: MachineStep<Subject>) {
    require(notes.grow(step.after), "no counter decreases")
    guard step.input == nil else { return }
    require(
      notes.ends(step.after, within: drainLimit, at: now), "a drain ends by its limit")
  }

  static var wallAtZero: Int64 { 1_768_000_000_000_000_000 }

  static var storeFailures: [StoreFailure] {
    [
      .full(detail: "a"), .locked(detail: "a"), .corrupt(detail: "a"), .denied(detail: "a"),
      .fromTheFuture(found: 2, supported: 1), .other(detail: "a"),
    ]
  }
}

/// An injected fault, and the property that must show it.
struct InjectedFault<Subject: Machine>: Sendable, CustomTestStringConvertible {
  let property: String
  let fault: Fault<Subject>

  init(_ property: String, _ fault: @escaping Fault<Subject>) {
    (self.property, self.fault) = (property, fault)
  }

  /// A fault that changes each effect, drops it or repeats it.
  init(_ property: String, each change: @escaping @Sendable (Subject.Effect) -> [Subject.Effect]) {
    self.init(property) { _, _, effects in effects = effects.flatMap(change) }
  }

  var testDescription: String { property }

  /// Returns whether random inputs to the faulty machine break the property.
  func isFound<Generator: InputGenerator>(
    by generator: Generator.Type, acts: Int
  ) -> Bool where Generator.Subject == Subject {
    (0..<40).contains { seed in
      RandomInputs<Generator>(seeds: 0..<1, acts: acts, fault: fault).play(seed).run.broken
        == property
    }
  }
}
