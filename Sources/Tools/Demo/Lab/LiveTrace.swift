import HoldfastCore
import HoldfastDriver
import HoldfastLinkChecks
import HoldfastLinkTrace

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The facts of a link while its app runs.
protocol LiveTrace: AnyObject {
  /// The machine's name in journals.
  var machine: String { get }
  /// The policy of the link; `nil` until the first journal begins.
  var policy: LinkPolicy? { get }
  /// Returns the facts that were added since the last call. Causes are their places among all facts
  /// of the trace.
  func read() -> [TraceFact]
  /// Returns the reason why the rest of the app's run is not shown, once.
  func takeProblem() -> String?
  /// Records that the app's process ended.
  func end(at now: Instant)
  /// Records that the system stopped the app's process, or let it run again.
  func sleep(_ isAsleep: Bool, at now: Instant)
}

/// The trace of a growing journal, and of the journals that follow when the app is launched again.
final class LiveJournalTrace<Feature: ReplayedFeature & TracedFeature>: LiveTrace
where Feature.Model: Journaled {
  private let path: String
  private var file: ino_t?
  private var reader: JournalReader<Feature.Model>?
  private var model: Feature.Model?
  private var recorded: Recorded<Feature>?
  private var teller: LinkTeller<Feature>
  private var last: PhoneState<Feature>?
  private var line = 1
  private var run = 0
  /// Whether the lab itself stopped the process since the last step.
  private var wasAsleep = false
  private var reported = 0
  /// The number of the file in the app's run; 0 before the first one.
  private var part = 0
  /// Whether the rest of the run cannot be read.
  private var isBroken = false
  private var problem: String?
  private var findings = 0
  private(set) var policy: LinkPolicy?

  var machine: String { Feature.Model.journalName }

  /// Creates the trace.
  ///
  /// - Parameters:
  ///   - journal: The file that the app writes.
  ///   - start: The beginning of the trace, by the clock that all processes of this machine share.
  init(_ feature: Feature.Type, journal: String, start: Instant, startedAt: Timestamp) {
    path = journal
    teller = LinkTeller(start: start, startedAt: startedAt)
  }

  func read() -> [TraceFact] {
    advance()
    defer { reported = teller.facts.count }
    return teller.facts[reported...].map(Self.withClockOfTrace)
  }

  func takeProblem() -> String? {
    defer { problem = nil }
    return problem
  }

  /// Reads all steps that are complete, and what the checkers find in them.
  private func advance() {
    follow()
    if hasNewFile {
      // The machine writes the rest of its journal into another file.
      follow()
      addFindings()
      open()
      follow()
    }
    addFindings()
  }

  private func addFindings() {
    for finding in (recorded?.findings ?? []).dropFirst(findings) {
      findings += 1
      teller.add(finding)
    }
  }

  func end(at now: Instant) {
    advance()
    if var last {
      last.now = max(last.now, now)
      teller.see(.killed(.phone), last)
    }
    reader = nil
    (model, recorded, last) = (nil, nil, nil)
    (part, isBroken, wasAsleep) = (0, false, false)
  }

  func sleep(_ isAsleep: Bool, at now: Instant) {
    advance()
    guard var last else { return }
    last.now = max(last.now, now)
    teller.see(isAsleep ? .suspended(.phone) : .resumed(.phone), last)
    wasAsleep = true
  }

  private var hasNewFile: Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_ino != file && status.st_size > 0
  }

  /// Opens the file. Its first line may not be complete yet; a later call then opens it again.
  private func open() {
    var status = stat()
    guard unsafe stat(path, &status) == 0,
      let opened = try? JournalReader<Feature.Model>(path: path, follows: true)
    else { return }
    file = status.st_ino
    let next = opened.header.part
    if next == 1 {
      isBroken = false
    } else if !isBroken, next != part + 1 {
      stop("part \(part + 1) of its journal was replaced before it was read")
    }
    guard !isBroken else { return }
    part = next
    if next == 1 {
      let begun = Feature.Model(opened.header.birth, seed: opened.header.seed)
      run += 1
      findings = 0
      policy = begun.policy
      recorded = Recorded(begun) { [unowned self] seen, state in see(seen, state) }
      model = begun
    }
    reader = consume opened
  }

  /// Adds no more facts until the app is launched again.
  private func stop(_ reason: String) {
    reader = nil
    isBroken = true
    problem = Sentence.closed("The rest of the app's run is not shown: \(reason)")
  }

  /// Returns the next step that is complete. After a line that cannot be read, there is none.
  private func next() -> JournalStep<Feature.Model>? {
    do throws(JournalError) {
      return try reader?.next { [self] note, line in
        teller.see(note.note, of: note.attempt, at: note.at, line: line)
      }
    } catch {
      stop("its journal cannot be read: \(error)")
      return nil
    }
  }

  /// Replays the steps that are complete.
  private func follow() {
    while let step = next() {
      guard var model else { return }
      switch step.cause {
      case .input(let input): _ = model.handle(input, at: step.at)
      case .tick: _ = model.tick(at: step.at)
      }
      self.model = model
      line = reader?.line ?? line
      recorded?.see(step.cause.input, at: step.at, effects: step.effects, then: model)
      wasAsleep = false
    }
  }

  private func see(_ seen: Observation<Feature>, _ state: PhoneState<Feature>) {
    last = state
    // The other end reports what the server has, when it happens.
    if case .fact = seen { return }
    var seen = seen
    if case .launched(let host, _) = seen { seen = .launched(host, run: run) }
    // The lab has already reported the sleep that it caused.
    if wasAsleep, seen == .suspended(.phone) || seen == .resumed(.phone) { return }
    teller.see(seen, state, line: line)
  }

  /// Returns a fact in which no entry is shown before it was made. All clocks are those of this
  /// machine, and differ by their resolution.
  private static func withClockOfTrace(_ fact: TraceFact) -> TraceFact {
    guard case .message(let made, let via, let position) = fact.event else { return fact }
    var fact = fact
    fact.event = .message(made: min(made, fact.at), via: via, position: position)
    return fact
  }
}
