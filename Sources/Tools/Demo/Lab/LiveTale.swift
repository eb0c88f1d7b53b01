import HoldfastCore
import HoldfastDriver
import HoldfastLinkTrace
import HoldfastWorlds

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The facts of a link while its app runs.
protocol LiveTale: AnyObject {
  /// The machine's name in journals.
  var machine: String { get }
  /// The policy of the link; `nil` until the first journal begins.
  var policy: LinkPolicy? { get }
  /// Returns the facts that were added since the last call. Causes are their places among all facts
  /// of the tale.
  func read() -> [TraceFact]
  /// Records that the app's process ended.
  func end(at now: Instant)
  /// Records that the system stopped the app's process, or let it run again.
  func sleep(_ isAsleep: Bool, at now: Instant)
}

/// The tale of a journal that grows, and of the journals that follow when the app is launched again.
final class JournalTale<Feature: ReplayedFeature & TracedFeature>: LiveTale
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
  private var told = 0
  private var findings = 0
  private(set) var policy: LinkPolicy?

  var machine: String { Feature.Model.journalName }

  /// Creates a tale.
  ///
  /// - Parameters:
  ///   - journal: The file that the app writes.
  ///   - start: The beginning of the trace, by the clock that all processes of this machine share.
  init(_ feature: Feature.Type, journal: String, start: Instant, startedAt: Timestamp) {
    path = journal
    teller = LinkTeller(start: start, startedAt: startedAt)
  }

  func read() -> [TraceFact] {
    follow()
    if hasNewFile {
      // The machine writes the rest of its journal into another file.
      follow()
      open()
      follow()
    }
    for finding in (recorded?.findings ?? []).dropFirst(findings) {
      findings += 1
      teller.add(finding)
    }
    defer { told = teller.facts.count }
    return teller.facts[told...].map(Self.withClockOfTrace)
  }

  func end(at now: Instant) {
    follow()
    guard var last else { return }
    last.now = max(last.now, now)
    teller.see(.killed(.phone), last)
    reader = nil
    (model, recorded, self.last) = (nil, nil, nil)
    wasAsleep = false
  }

  func sleep(_ isAsleep: Bool, at now: Instant) {
    follow()
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
    if opened.header.part == 1 || model == nil {
      let begun = Feature.Model(opened.header.birth, seed: opened.header.seed)
      run += 1
      findings = 0
      policy = begun.policy
      recorded = Recorded(begun) { [unowned self] seen, state in see(seen, state) }
      model = begun
    }
    reader = consume opened
  }

  /// Replays the steps that are complete. A journal that cannot be read is left alone.
  private func follow() {
    while let step = try? reader?.next() {
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
    // What the server has is told by the other end, at the time at which it happens.
    if case .fact = seen { return }
    var seen = seen
    if case .launched(let host, _) = seen { seen = .launched(host, run: run) }
    // The lab has told of the sleep that it caused.
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
