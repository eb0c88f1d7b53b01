import LinkCore
import LinkServerCore
import LinkStorage
import LinkWire
import MessageStream

/// The seam between the client and its world for the defects of a message stream; those of its link
/// are made by `LinkSeam`.
struct StreamSeam: Sendable {
  private let defect: StreamDefect?
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
  private var isLeft = false

  init(_ defect: StreamDefect?) {
    self.defect = defect
  }

  /// Commits are said to be durable at once, and become so later.
  var acknowledgesEarly: Bool { defect == .showsBeforeStored }

  /// A new run of the process.
  mutating func launched() {
    catchUp = nil
    isAnswered = false
    look = nil
    isConnected = false
    isOpening = false
    skipped = nil
    screen = []
    isLeft = false
  }

  /// The numbers that the client really goes by.
  mutating func settings(_ settings: StreamSettings) -> StreamSettings {
    var changed = settings
    historyPage = settings.historyPage
    if defect == .noOverlap { changed.overlap = .zero }
    return changed
  }

  /// What really reaches the client for one input.
  mutating func inputs(_ input: StreamModel.Input) -> [StreamModel.Input] {
    switch defect {
    case .noSecondFetch: [withoutSecondFetch(withoutLook(input))]
    case .noBuffer: withoutBuffer(input)
    case .noOverlap: [withoutLook(input)]
    case .firstPageOnly: [firstPage(withoutLook(input))]
    case .forgetsIDs: [forgetful(input)]
    case .noIdempotencyKey: [keys.answered(input)]
    case .ignoresEpoch: [epochs.hidden(in: input)]
    case .asksInVain: [withoutHead(input)]
    case .fetchesAfterLeaving: [noteLeaving(input)]
    case .leavesPosts: [noteConnection(input)]
    case .showsBeforeStored, .countResetOnOpen, .noStability, .timersStopAsleep, .takesLateEvents,
      .losesStandby, .noSpread, .closesAlive, .countsTheDial, .ignoresWish, .refreshesEarly,
      .blamesCredentials, .sendsTwice, .outlivesToken, nil:
      [input]
    }
  }

  /// What really leaves the client for one effect.
  mutating func effects(_ effect: StreamModel.Effect) -> [StreamModel.Effect] {
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
    case .leavesPosts: return isPost(effect) && isConnected ? [] : [effect]
    case .sendsTwice: return isPost(effect) ? [effect, effect] : [effect]
    case .fetchesAfterLeaving: return withFetch(effect)
    case .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents, .losesStandby,
      .noSpread, .timersStopAsleep, .closesAlive, .countsTheDial, .ignoresWish, .refreshesEarly,
      .blamesCredentials, .asksInVain, .outlivesToken, nil:
      return [effect]
    }
  }

  /// What the store is said to have answered to a change.
  mutating func stored(
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

// What nothing makes necessary.
extension StreamSeam {
  /// A token that still counts is believed for ever.
  func admitted(_ credential: Credential, wall: Timestamp) -> Credential {
    guard defect == .outlivesToken, case .valid(var claims) = credential, wall < claims.expiresAt
    else { return credential }
    claims.expiresAt = wall.advanced(by: .seconds(1_000_000))
    return .valid(claims)
  }

  private func withoutHead(_ input: StreamModel.Input) -> StreamModel.Input {
    guard case .opened(let attempt, _, _) = input else { return input }
    return .opened(attempt, head: nil)
  }

  private mutating func noteLeaving(_ input: StreamModel.Input) -> StreamModel.Input {
    isLeft = input == .close
    return input
  }

  private func withFetch(_ effect: StreamModel.Effect) -> [StreamModel.Effect] {
    guard isLeft, case .update(.status) = effect else { return [effect] }
    return [effect, .fetch(FetchID(.max), .page(number: 1, limit: 50))]
  }

  private mutating func noteConnection(_ input: StreamModel.Input) -> StreamModel.Input {
    switch StreamModel.role(of: input) {
    case .opened: isConnected = true
    case .lost: isConnected = false
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .data, .draining, .heard,
      .answered, .refused, .other:
      break
    }
    return input
  }

  private func isPost(_ effect: StreamModel.Effect) -> Bool {
    if case .post = effect { true } else { false }
  }
}

// The fetches of a catch-up.
extension StreamSeam {
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
    if case .fetched(let id, _) = input, id == catchUp { catchUp = nil }
    if case .fetchFailed(let id, _) = input, id == catchUp { catchUp = nil }
    switch StreamModel.role(of: input) {
    case .opened, .lost:
      catchUp = nil
      return false
    case .data: return isConnected && catchUp != nil
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .draining, .heard,
      .answered, .refused, .other:
      return false
    }
  }

  private func firstPage(_ input: StreamModel.Input) -> StreamModel.Input {
    guard case .fetched(let id, var page) = input, id == catchUp else { return input }
    page.hasNext = false
    return .fetched(id, page)
  }
}

// What a launch forgets.
extension StreamSeam {
  /// The screen is filled from the store, and of what it shows only its top is remembered, from
  /// where the reader scrolls on.
  private mutating func forgetful(_ input: StreamModel.Input) -> StreamModel.Input {
    guard case .loaded(var snapshot) = input else { return input }
    screen = Array(snapshot.messages.suffix(historyPage))
    if let gap = snapshot.gaps.last { screen.removeAll { $0.key < gap.before } }
    snapshot.messages = Array(screen.prefix(1))
    return .loaded(snapshot)
  }
}

extension StreamModel.Input {
  var isOpened: Bool { if case .opened = self { true } else { false } }
}
