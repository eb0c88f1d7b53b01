import LinkCore
import LinkWire
import MessageStream

/// Tells a run to people: who did what and when, in plain words.
///
/// Pings, timers without a consequence and repetitions are left out unless everything is asked for.
public struct Story {
  /// One line.
  public struct Line: Sendable, Hashable {
    /// When it happened, from the beginning of the run.
    public var at: Duration
    /// Who did it, or with whom it happened.
    public var who: Who
    /// What happened, without a full stop.
    public var what: String

    /// As `0:12:03.250  server   closes with 1001`.
    public var text: String {
      let name = who == .judge ? "FOUND" : who.rawValue
      let pad = String(repeating: " ", count: max(0, 7 - name.count))
      return "\(Words.clock(at))  \(name)\(pad)  \(what)"
    }
  }

  /// Whom a line is about.
  public enum Who: String, Sendable, Hashable, CaseIterable {
    /// What is planned to go wrong, or to be all right again.
    case plan
    case user
    /// What the app does.
    case app
    /// What the app shows.
    case screen
    case phone
    case disk
    case network
    case server
    /// A promise is broken here.
    case judge
  }

  let isVerbose: Bool
  private var start: Instant?
  private var findings: [Finding]
  private var lastStatus = ""

  /// - Parameters:
  ///   - findings: What judges found in the same run, to be marked where it happened.
  ///   - isVerbose: Leaves nothing out.
  public init(findings: [Finding] = [], isVerbose: Bool = false) {
    self.findings = findings.sorted { $0.at < $1.at }
    self.isVerbose = isVerbose
  }

  /// Plays a plan before a listener, and once before that to know what will be found.
  ///
  /// - Parameter listen: Hears each line.
  public static func tell<Client: StreamClient>(
    _ plan: Plan, _ setup: Setup = Setup(), as client: Client.Type, isVerbose: Bool = false,
    listen: (Line) -> Void
  ) -> Outcome {
    let outcome = play(plan, setup, as: client)
    var story = Story(findings: outcome.findings, isVerbose: isVerbose)
    _ = play(plan, setup, as: client) { happening, facts in
      for line in story.tell(happening, facts) { listen(line) }
    }
    for line in story.end() { listen(line) }
    return outcome
  }

  /// The lines for one thing that happened, in order.
  public mutating func tell(_ happening: Happening, _ facts: Facts) -> [Line] {
    let start = self.start ?? facts.now
    self.start = start
    let found = marks { $0.at < facts.now }
    let at = start.duration(to: facts.now)
    return found + words(for: happening).map { Line(at: at, who: $0.who, what: $0.what) }
  }

  /// What was found and not marked yet.
  public mutating func end() -> [Line] { marks { _ in true } }

  private mutating func marks(_ isDue: (Finding) -> Bool) -> [Line] {
    let due = findings.prefix(while: isDue)
    findings.removeFirst(due.count)
    return due.map { finding in
      Line(
        at: (start ?? finding.at).duration(to: finding.at), who: .judge,
        what: "\(finding.kind.rawValue): \(finding.detail)")
    }
  }

  typealias Part = (who: Who, what: String)

  private mutating func words(for happening: Happening) -> [Part] {
    switch happening {
    case .launched(let run):
      lastStatus = ""
      return [(.phone, run == 1 ? "launches the app" : "launches the app again (run \(run))")]
    case .killed: return [(.phone, "kills the app")]
    case .suspended: return [(.phone, "suspends the app: its timers stop")]
    case .resumed: return [(.phone, "lets the app go on")]
    case .told(let input, let isLate, let effects):
      let late = isLate ? " (late: it belongs to an older attempt)" : ""
      let lines = effects.compactMap { words(for: $0) }
      guard isLate || isVerbose || Words.isWorth(input, lines) else { return lines }
      let cause = Words.cause(input)
      return [(cause.who, cause.what + late)] + lines
    case .ticked(let effects):
      let lines = effects.compactMap { words(for: $0) }
      return isVerbose ? [(.app, "looks at the clock")] + lines : lines
    case .stored(let change, let commit): return [(.disk, Words.stored(change, commit))]
    case .accepted, .beganAnew, .upgraded, .serverLost, .wentDead:
      return Words.outside(happening)
    case .began(let action): return [(action.isOfPeople ? .user : .plan, Words.action(action))]
    case .ended(let action): return [(.plan, "over: \(Words.action(action))")]
    case .calm: return [(.plan, "calm: from now on nothing goes wrong any more")]
    }
  }

  /// What the app does, or shows; `nil` for what says nothing new.
  private mutating func words(for effect: StreamModel.Effect) -> Part? {
    guard case .update(.status(let status)) = effect else {
      return Words.effect(effect, isVerbose: isVerbose)
    }
    let words = Words.status(status)
    guard isVerbose || words != lastStatus else { return nil }
    lastStatus = words
    return (.screen, words)
  }
}
