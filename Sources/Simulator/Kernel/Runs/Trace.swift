public import HoldfastCore
public import HoldfastLinkChecks

/// One line of a trace.
public struct TraceLine: Sendable, Hashable {
  /// The time since the beginning of the run.
  public var at: Duration
  /// The part of the world that acts or is affected.
  public var who: TraceActor
  /// The description, without a full stop.
  public var what: String

  /// The line's text, such as `0:12:03.250  server   closes with 1001`.
  public var text: String {
    let name = who == .checker ? "FOUND" : who.rawValue
    let pad = String(repeating: " ", count: max(0, 7 - name.count))
    return "\(TraceText.clock(at))  \(name)\(pad)  \(what)"
  }
}

/// A human-readable description of a run: for each event, its time, its actor and the action.
///
/// Pings, timers without a consequence, and repetitions are omitted unless the trace is verbose.
public struct Trace<Feature: SimulatedFeature> {
  /// One line of the trace.
  public typealias Line = TraceLine

  let isVerbose: Bool
  private let phones: Int
  private var start: Instant?
  private var findings: [Finding]
  private var lastStatus: [Int: String] = [:]

  /// Creates a trace.
  ///
  /// - Parameters:
  ///   - findings: The findings of the same run. The trace shows each at its time.
  ///   - phones: The number of phones in the world. If there are several, each line names its
  ///     phone.
  ///   - isVerbose: Whether the trace omits nothing.
  public init(findings: [Finding] = [], phones: Int = 1, isVerbose: Bool = false) {
    self.findings = findings.sorted { $0.at < $1.at }
    self.phones = phones
    self.isVerbose = isVerbose
  }

  /// Runs a plan twice: first to collect the findings, then to pass the lines of its trace to
  /// `listen`.
  ///
  /// - Parameters:
  ///   - begin: Receives the outcome of the run before the first line.
  ///   - listen: Receives each line.
  public static func play(
    _ plan: WorldPlan<Feature>, _ setup: RunSetup<Feature> = RunSetup(), isVerbose: Bool = false,
    begin: (RunOutcome<Feature>) -> Void = { _ in }, listen: (Line) -> Void
  ) -> RunOutcome<Feature> {
    var phones = 1
    let outcome = Feature.play(plan, setup) { seen, _ in
      phones = max(phones, (seen.host?.index ?? 0) + 1)
    }
    begin(outcome)
    var trace = Trace(findings: outcome.findings, phones: phones, isVerbose: isVerbose)
    withoutActuallyEscaping(listen) { listen in
      _ = Feature.play(plan, setup) { seen, phoneState in
        for line in trace.lines(for: seen, at: phoneState.now) { listen(line) }
      }
    }
    for line in trace.end() { listen(line) }
    return outcome
  }

  /// Returns the lines for one observation, in order.
  public mutating func lines(for seen: Observation<Feature>, at now: Instant) -> [Line] {
    let start = self.start ?? now
    self.start = start
    let found = marks { $0.at < now }
    let at = start.duration(to: now)
    let name = seen.host.flatMap { phones > 1 ? " (\($0.kind.rawValue) \($0.index))" : nil } ?? ""
    return found + parts(of: seen).map { Line(at: at, who: $0.who, what: $0.what + name) }
  }

  /// Returns lines for the findings that have not been shown.
  public mutating func end() -> [Line] { marks { _ in true } }

  private mutating func marks(_ isDue: (Finding) -> Bool) -> [Line] {
    let due = findings.prefix(while: isDue)
    findings.removeFirst(due.count)
    return due.map { finding in
      Line(
        at: (start ?? finding.at).duration(to: finding.at), who: .checker,
        what: "\(finding.kind.rawValue): \(finding.detail)")
    }
  }

  private mutating func parts(of seen: Observation<Feature>) -> [TracePart] {
    switch seen {
    case .launched(let host, let run):
      lastStatus[host.index] = ""
      return [(.phone, run == 1 ? "launches the app" : "launches the app again (run \(run))")]
    case .killed: return [(.phone, "kills the app")]
    case .suspended: return [(.phone, "suspends the app: its timers stop")]
    case .resumed: return [(.phone, "resumes the app")]
    case .received(let host, let input, let isLate, let effects):
      let late = isLate ? " (late: it belongs to an older attempt)" : ""
      let lines = effects.compactMap { part(of: $0, host) }
      guard isLate || isVerbose || Feature.isWorth(input, lines) else { return lines }
      let cause = Feature.describe(input)
      return [(cause.who, cause.what + late)] + lines
    case .ticked(let host, let effects):
      let lines = effects.compactMap { part(of: $0, host) }
      return isVerbose ? [(.app, "looks at the clock")] + lines : lines
    case .upgraded(_, let attempt, 101): return [(.server, "takes connection \(attempt.number)")]
    case .upgraded(_, let attempt, let status):
      return [(.server, "refuses connection \(attempt.number) with status \(status)")]
    case .serverLost(_, let attempt):
      return [(.server, "no longer has connection \(attempt.number)")]
    case .wentDead(_, let attempt):
      return [(.network, "nothing will pass on connection \(attempt.number) any more")]
    case .server: return []
    case .began(let event): return [(event.isOfPeople ? .user : .plan, event.description)]
    case .ended(let event): return [(.plan, "over: \(event.description)")]
    case .calm: return [(.plan, "calm: from now on nothing goes wrong any more")]
    case .fact(let fact): return Feature.describe(fact)
    }
  }

  /// Returns the part for an effect of the app, or `nil` if the effect shows nothing new.
  private mutating func part(of effect: Feature.Effect, _ host: HostID) -> TracePart? {
    guard let label = Feature.statusLabel(effect) else {
      return Feature.describe(effect, isVerbose: isVerbose)
    }
    guard isVerbose || label != lastStatus[host.index] else { return nil }
    lastStatus[host.index] = label
    return (.screen, label)
  }
}
