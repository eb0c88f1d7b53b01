public import LinkCore
import LinkWire
public import MessageStream

/// A real run, told by its journal, before the judges of the simulator.
///
/// A journal knows the phone's side only. What only the server or the network could tell is not
/// judged, nor is a timer that came late, since a device may have slept.
public struct Recorded {
  /// The promises that a journal can show to be broken.
  public static let judged: [Finding.Kind] = [
    .duplicated, .reordered, .stuck, .storm, .early, .late, .unbounded,
  ]

  /// How late a timer of a real machine may come while it is awake.
  private static let slack = Duration.seconds(1)

  private var bench = Bench()
  private var facts: Facts
  /// Changes that the store was given and has not answered.
  private var changes: [CommitID: TimelineChange] = [:]
  private var known: Set<MessageID> = []
  private var isOpen = false
  private var isInFront = true
  private var isLive = true
  private var isLaunched = false

  /// A run that begins with this model.
  public init(_ model: StreamModel) {
    facts = Facts(
      now: .zero, settings: model.settings, server: .plain, status: model.status,
      isWhole: model.isWhole, backlog: model.backlog, deadline: nil, currentAttempt: nil,
      isAwake: true, isWanted: false, isReachable: true, isSignedIn: false, underWay: 0,
      storeFails: false, secrets: [], disk: Disk())
  }

  /// What was broken so far, as far as a journal can tell.
  public var findings: [Finding] { bench.findings.filter { Self.judged.contains($0.kind) } }

  /// The model was given an input, or its deadline had come where there is none.
  ///
  /// - Parameters:
  ///   - effects: What it asked for.
  ///   - model: The model after that.
  public mutating func see(
    _ input: StreamModel.Input?, at now: Instant, effects: [StreamModel.Effect],
    then model: StreamModel
  ) {
    pass(to: now)
    let isLate = input?.attempt.map { $0 != facts.currentAttempt } ?? false
    if let input { prepare(for: input) }
    for effect in effects { note(effect) }
    facts.status = model.status
    facts.isWhole = model.isWhole
    facts.backlog = model.backlog
    facts.deadline = model.deadline?.advanced(by: Self.slack)
    facts.currentAttempt = model.currentAttempt
    facts.isWanted = isOpen && isInFront && isLive
    if let input {
      bench.see(.told(input, isLate: isLate, effects: effects), facts)
    } else {
      bench.see(.ticked(effects: effects), facts)
    }
  }

  /// The journal ends here.
  public mutating func conclude() { bench.conclude(facts) }

  /// A deadline that passed long ago: the device slept.
  private mutating func pass(to now: Instant) {
    if !isLaunched {
      isLaunched = true
      facts.now = now
      bench.see(.launched(run: 1), facts)
    } else if let deadline = facts.deadline, deadline < now {
      facts.isAwake = false
      bench.see(.suspended, facts)
      facts.isAwake = true
      facts.now = now
      bench.see(.resumed, facts)
    }
    facts.now = now
  }

  /// What an input says about the world, before the model hears of it.
  private mutating func prepare(for input: StreamModel.Input) {
    switch input {
    case .open: isOpen = true
    case .close: isOpen = false
    case .realtime(let isOn): isLive = isOn
    case .lifecycle(let place, _): isInFront = place == .foreground
    case .reachability(.reachable): facts.isReachable = true
    case .reachability(.unreachable), .reachability(.captivePortal): facts.isReachable = false
    case .credentials(let event): note(event)
    case .opened(let attempt, _, _): bench.see(.upgraded(attempt, status: 101), facts)
    case .frame(_, .message(let message)): accept([message])
    case .fetched(_, let page): answer { $0.accept(page.messages) }
    case .posted(_, let message): answer { $0.accept([message]) }
    case .fetchFailed, .postFailed, .olderFailed: answer { _ in }
    case .loaded(let kept):
      answer {
        $0.restore(
          TimelineChange(
            messages: kept.messages, cursor: kept.cursor, gaps: kept.gaps, outboxPut: kept.outbox))
      }
    case .older(let messages): answer { $0.restore(TimelineChange(messages: messages)) }
    case .loadFailed: answer { $0.facts.storeFails = true }
    case .committed(let id, let commit): answer { $0.store(id, commit) }
    case .commitFailed(let id, _):
      answer {
        $0.facts.storeFails = true
        $0.changes[id] = nil
      }
    case .refresh, .reader, .user, .loadOlder, .send, .retry, .discard, .woke, .frame, .ping, .pong,
      .oversized,
      .lost:
      return
    }
  }

  /// An effect is carried out.
  private mutating func note(_ effect: StreamModel.Effect) {
    switch effect {
    case .commit(let id, let change):
      changes[id] = change
      facts.underWay += 1
    case .refreshCredentials, .fetch, .post, .load, .readOlder: facts.underWay += 1
    case .open, .close, .ping, .update: return
    }
  }

  private mutating func note(_ event: Link.CredentialsEvent) {
    facts.underWay = max(0, facts.underWay - 1)
    switch event {
    case .available: facts.isSignedIn = true
    case .refreshFailed: return
    case .rejected, .cleared: facts.isSignedIn = false
    }
  }

  /// Something that was asked for is here.
  private mutating func answer(_ take: (inout Recorded) -> Void) {
    facts.underWay = max(0, facts.underWay - 1)
    take(&self)
  }

  /// The server must have accepted what it sends.
  private mutating func accept(_ messages: [Message]) {
    for message in messages where known.insert(message.id).inserted {
      if message.position != nil { facts.server = .positions }
      bench.see(.accepted(message, isNew: true), facts)
    }
  }

  /// The store had this before.
  private mutating func restore(_ change: TimelineChange) {
    facts.storeFails = false
    accept(change.messages)
    _ = facts.disk.commit(change)
  }

  private mutating func store(_ id: CommitID, _ commit: TimelineCommit) {
    facts.storeFails = false
    guard var change = changes.removeValue(forKey: id) else { return }
    _ = facts.disk.commit(change)
    // Two real messages may have the same text, by which the ledger tells what the user wrote.
    change.outboxPut = []
    bench.see(.stored(change, commit), facts)
  }
}
