public import LinkCore
public import LinkWire
public import MessageStream

/// What stands between the client and its world in one run: clean, or as a defect would have it.
///
/// A defect is never made inside the client. It changes what the client is told, what it asks for,
/// or the numbers it goes by, so that the two together behave as the mistaken client would. What
/// judges are told is the truth: the input as the world made it, and the settings without defect.
public struct Seam: Sendable {
  private let defect: Break?
  /// The catch-up whose answer counts; a younger one takes its place.
  private var catchUp: FetchID?
  /// The input just given answers it: what is fetched now goes on with it.
  private var isAnswered = false
  /// The newest page that a catch-up by time looks at in the end.
  private var look: FetchID?
  private var isConnected = false
  /// The socket just opened: what is fetched now is the fetch after a connect.
  private var isOpening = false
  private var skipped: FetchID?
  private var keys = Keys()
  private var epochs = Epochs()
  /// What a launch shows of its store, until it did.
  private var screen: [Message] = []
  private var historyPage = 0
  private var hadStandby = false

  public init(_ defect: Break?) {
    self.defect = defect
  }

  /// Nothing is changed: a world in a hurry need not ask.
  public var isClean: Bool { defect == nil }

  /// Commits are said to be durable at once, and become so later.
  public var acknowledgesEarly: Bool { defect == .showsBeforeStored }

  /// The client's clock stands still while its process or device does.
  public var timersStopAsleep: Bool { defect == .timersStopAsleep }

  /// A new run of the process.
  public mutating func launched() {
    catchUp = nil
    isAnswered = false
    look = nil
    isConnected = false
    isOpening = false
    skipped = nil
    screen = []
    hadStandby = false
  }

  /// The numbers that the client really goes by.
  public mutating func settings(_ settings: StreamSettings) -> StreamSettings {
    var changed = settings
    historyPage = settings.historyPage
    switch defect {
    case .noOverlap: changed.overlap = .zero
    case .countResetOnOpen: changed.policy = settings.policy.countingFromTheStart
    case .noStability: changed.policy = settings.policy.stable(after: .nanoseconds(1))
    case .noSpread: changed.policy = settings.policy.spread(over: .nanoseconds(1))
    case .noSecondFetch, .noBuffer, .firstPageOnly, .showsBeforeStored, .takesLateEvents,
      .forgetsIDs, .noIdempotencyKey, .losesStandby, .ignoresEpoch, .timersStopAsleep, nil:
      break
    }
    return changed
  }

  /// What really reaches the client for one input.
  ///
  /// - Parameters:
  ///   - current: The attempt that counts for the client now.
  ///   - status: What the client says of its link before the input.
  public mutating func inputs(
    _ input: StreamModel.Input, current: AttemptID?, status: LinkStatus
  ) -> [StreamModel.Input] {
    switch defect {
    case .noSecondFetch: [withoutSecondFetch(withoutLook(input))]
    case .noBuffer: withoutBuffer(input)
    case .noOverlap: [withoutLook(input)]
    case .firstPageOnly: [firstPage(withoutLook(input))]
    case .takesLateEvents: [current.map { input.renamed(to: $0) } ?? input]
    case .forgetsIDs: [forgetful(input)]
    case .noIdempotencyKey: [keys.answered(input)]
    case .losesStandby: loses(input, status) ? [] : [input]
    case .noSpread: input.isDraining ? [] : [input]
    case .ignoresEpoch: [epochs.hidden(in: input)]
    case .showsBeforeStored, .countResetOnOpen, .noStability, .timersStopAsleep, nil: [input]
    }
  }

  /// What really leaves the client for one effect.
  public mutating func effects(_ effect: StreamModel.Effect) -> [StreamModel.Effect] {
    switch defect {
    case .noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly:
      note(effect)
      return [effect]
    case .forgetsIDs:
      guard !screen.isEmpty, case .update(.messages(_, via: .history)) = effect else {
        return [effect]
      }
      defer { screen = [] }
      return [.update(.messages(screen, via: .history))]
    case .noIdempotencyKey: return [keys.sent(effect)]
    case .ignoresEpoch: return [epochs.asked(effect)]
    case .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents, .losesStandby,
      .noSpread, .timersStopAsleep, nil:
      return [effect]
    }
  }

  /// What the store is said to have answered to a change.
  public mutating func stored(
    _ commit: TimelineCommit, of change: TimelineChange
  ) -> TimelineCommit {
    guard defect == .forgetsIDs else { return commit }
    let edited = Set(commit.edited)
    let fresh = change.messages.filter { !edited.contains($0.id) }.map(\.key)
    var seen: Set<MessageID> = []
    let inserted = fresh.sorted().map(\.id).filter { seen.insert($0).inserted }
    return TimelineCommit(inserted: inserted, edited: commit.edited)
  }
}

// The fetches of a catch-up.
extension Seam {
  private mutating func note(_ effect: StreamModel.Effect) {
    switch effect {
    case .update(.status(let status)): isConnected = status.state == .connected
    case .fetch(let id, .since), .fetch(let id, .after):
      catchUp = id
      if isOpening { skipped = id }
    case .fetch(let id, .page) where isAnswered:
      catchUp = id
      look = id
    case .open, .close, .ping, .refreshCredentials, .fetch, .post, .load, .commit, .readOlder,
      .update:
      return
    }
  }

  /// Who makes a mistake in a catch-up by time does not look at the newest page behind it, which
  /// would heal it: the look says nothing.
  private mutating func withoutLook(_ input: StreamModel.Input) -> StreamModel.Input {
    isAnswered = false
    guard case .fetched(let id, _) = input, id == catchUp else { return input }
    isAnswered = true
    return id == look ? .fetched(id, Page(messages: [], hasNext: false)) : input
  }

  /// The answer to what is fetched after a connect says nothing.
  private mutating func withoutSecondFetch(_ input: StreamModel.Input) -> StreamModel.Input {
    isOpening = input.isOpened
    guard case .fetched(let id, _) = input, id == skipped else { return input }
    return .fetched(id, Page(messages: [], hasNext: false))
  }

  private mutating func withoutBuffer(_ input: StreamModel.Input) -> [StreamModel.Input] {
    let real = withoutLook(input)
    return drops(input) ? [] : [real]
  }

  /// Frames that come while the catch-up of a connection is under way.
  private mutating func drops(_ input: StreamModel.Input) -> Bool {
    switch input {
    case .fetched(let id, _), .fetchFailed(let id, _):
      if id == catchUp { catchUp = nil }
      return false
    case .opened, .lost:
      catchUp = nil
      return false
    case .frame(_, .message): return isConnected && catchUp != nil
    case _: return false
    }
  }

  private func firstPage(_ input: StreamModel.Input) -> StreamModel.Input {
    guard case .fetched(let id, var page) = input, id == catchUp else { return input }
    page.hasNext = false
    return .fetched(id, page)
  }
}

// What a launch and a background forget.
extension Seam {
  /// The screen is filled from the store, and of what it shows only its top is remembered, from
  /// where the reader scrolls on.
  private mutating func forgetful(_ input: StreamModel.Input) -> StreamModel.Input {
    guard case .loaded(var snapshot) = input else { return input }
    screen = Array(snapshot.messages.suffix(historyPage))
    if let gap = snapshot.gaps.last { screen.removeAll { $0.key < gap.before } }
    snapshot.messages = Array(screen.prefix(1))
    return .loaded(snapshot)
  }

  /// What polled before the background is not told that the app is in front again.
  private mutating func loses(_ input: StreamModel.Input, _ status: LinkStatus) -> Bool {
    switch input {
    case .lifecycle(.background, _):
      hadStandby = hadStandby || status.phase == .standby
      return false
    case .lifecycle(.foreground, _): return hadStandby
    case .close:
      hadStandby = false
      return false
    case _: return false
    }
  }
}

extension StreamModel.Input {
  var isOpened: Bool { if case .opened = self { true } else { false } }
  var isDraining: Bool { if case .frame(_, .draining) = self { true } else { false } }

  /// The same of another attempt, where it is of one.
  func renamed(to attempt: AttemptID) -> StreamModel.Input {
    switch self {
    case .opened(_, let head, let after): .opened(attempt, head: head, after: after)
    case .frame(_, let frame): .frame(attempt, frame)
    case .ping: .ping(attempt)
    case .pong(_, let id): .pong(attempt, id)
    case .oversized(_, let bytes): .oversized(attempt, bytes: bytes)
    case .lost(_, let failure): .lost(attempt, failure)
    case .open, .close, .realtime, .refresh, .reader, .user, .loadOlder, .send, .retry, .discard,
      .reachability,
      .lifecycle, .woke, .credentials, .fetched, .fetchFailed, .posted, .postFailed, .loaded,
      .loadFailed, .committed, .commitFailed, .older, .olderFailed:
      self
    }
  }
}
