import HoldfastCore
import HoldfastIdentity
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastWorldKernel

/// The seam between the client and its world. It applies the defects of MessageStream.
///
/// `LinkSeam` applies the defects of its link.
struct StreamSeam: Sendable {
  private let defect: StreamDefect?
  /// The current catch-up. A later catch-up replaces it.
  private var catchUp: FetchID?
  /// Whether the current input answers the catch-up. If so, a fetch now continues the catch-up.
  private var isAnswered = false
  /// The fetch of the newest page, with which a catch-up by time ends.
  private var lookup: FetchID?
  private var isConnected = false
  /// Whether the socket has just opened. If so, a fetch now is the one that follows a connect.
  private var isOpening = false
  private var skipped: FetchID?
  private var keys = Keys()
  private var epochs = Epochs()
  private var oldVersions = OldVersions()
  /// The entries with an image that were sent.
  private var illustrated: Set<UUID128> = []
  /// The stored messages that a launch shows; empty once they have been shown.
  private var screen: [ShopMessage] = []
  private var historyPage = 0
  private var isLeft = false

  init(_ defect: StreamDefect?) {
    self.defect = defect
  }

  /// Whether commits are acknowledged immediately and become durable later.
  var acknowledgesEarly: Bool { defect == .showsBeforeStored }

  /// Resets the state for a new run of the process.
  mutating func launched() {
    catchUp = nil
    isAnswered = false
    lookup = nil
    isConnected = false
    isOpening = false
    skipped = nil
    screen = []
    isLeft = false
    oldVersions = OldVersions()
  }

  /// Returns the settings that the client uses, with the defect applied.
  mutating func settings(_ settings: StreamSettings) -> StreamSettings {
    var changed = settings
    historyPage = settings.historyPage
    if defect == .noOverlap { changed.overlap = .zero }
    return changed
  }

  /// Returns the inputs to pass to the client in place of an input.
  mutating func inputs(_ input: StreamModel.Input) -> [StreamModel.Input] {
    switch defect {
    case .noSecondFetch: [withoutSecondFetch(withoutLookup(input))]
    case .noBuffer: withoutBuffer(input)
    case .noOverlap: [withoutLookup(input)]
    case .firstPageOnly: [firstPage(withoutLookup(input))]
    case .forgetsIDs: [forgetful(input)]
    case .noIdempotencyKey: [keys.answered(input)]
    case .ignoresEpoch: [epochs.hidden(in: input)]
    case .asksInVain: [withoutHead(input)]
    case .fetchesAfterLeaving: [noteLeaving(input)]
    case .leavesPosts: [noteConnection(input)]
    case .takesOldVersions, .revivesDeleted: [oldVersions.noted(input)]
    case .showsBeforeStored, .countResetOnOpen, .noStability, .timersStopAsleep, .takesLateEvents,
      .losesStandby, .noJitter, .closesAlive, .countsTheDial, .ignoresRetryAfter, .refreshesEarly,
      .blamesCredentials, .sendsTwice, .outlivesToken, .dropsEdits, .postsBeforeUpload,
      .swapsImages, .keepsImages, .coversNothing, .coversAll, nil:
      [input]
    }
  }

  /// Returns the effects to carry out in place of an effect of the client.
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
    case .ignoresEpoch: return [epochs.requested(effect)]
    case .leavesPosts: return isPost(effect) && isConnected ? [] : [effect]
    case .sendsTwice: return isPost(effect) ? [effect, effect] : [effect]
    case .fetchesAfterLeaving: return withFetch(effect)
    case .dropsEdits: return [withoutEdits(effect)]
    case .takesOldVersions: return [oldVersions.renewed(effect)]
    case .revivesDeleted: return [oldVersions.revived(effect)]
    case .postsBeforeUpload: return [withoutUpload(effect)]
    case .swapsImages: return [withOtherImage(effect)]
    case .coversNothing, .coversAll: return [covering(effect)]
    case .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents, .losesStandby,
      .noJitter, .timersStopAsleep, .closesAlive, .countsTheDial, .ignoresRetryAfter,
      .refreshesEarly,
      .blamesCredentials, .asksInVain, .outlivesToken, .keepsImages, nil:
      return [effect]
    }
  }

  /// Returns the store's answer to a change, with the defect applied.
  mutating func stored(
    _ commit: TimelineCommit, of change: TimelineChange
  ) -> TimelineCommit {
    guard defect == .forgetsIDs else { return commit }
    let edited = Set(commit.edited)
    let fresh = change.messages.filter { !edited.contains($0.id) }.map(\.key)
    var seen: Set<MessageID> = []
    let inserted = fresh.sorted().map(\.id).filter { seen.insert($0).inserted }
    return TimelineCommit(
      inserted: inserted, edited: commit.edited, deleted: commit.deleted)
  }
}

// Unnecessary actions.
extension StreamSeam {
  /// Extends the lifetime of a valid credential, so that its socket outlives the token.
  func admitted(_ credential: Credential, wall: Timestamp) -> Credential {
    guard defect == .outlivesToken, case .valid(var claims) = credential, wall < claims.expiresAt
    else { return credential }
    claims.expiresAt = wall.advanced(by: .seconds(1_000_000))
    return .valid(claims)
  }

  private func withoutHead(_ input: StreamModel.Input) -> StreamModel.Input {
    guard case .opened(let attempt, _, _, _) = input else { return input }
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
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .data, .draining, .received,
      .answered, .refused, .other:
      break
    }
    return input
  }

  private func withoutEdits(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    guard case .commit(let id, var change) = effect else { return effect }
    change.edits = []
    return .commit(id, change)
  }

  private func withoutUpload(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    if case .upload(let entry, let number) = effect { .post(entry, try: number) } else { effect }
  }

  private mutating func withOtherImage(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    guard case .post(var entry, let number) = effect, let url = entry.image?.url,
      !illustrated.insert(entry.id).inserted
    else { return effect }
    entry.image?.url = String(url.dropLast(36)) + MessageID(high: 1, low: 1).description
    return .post(entry, try: number)
  }

  private func covering(_ effect: StreamModel.Effect) -> StreamModel.Effect {
    guard case .commit(let id, var change) = effect else { return effect }
    change.covered = change.covered.prefix(defect == .coversAll ? 1 : 0).map {
      CoveredRange(epoch: $0.epoch)
    }
    return .commit(id, change)
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
    case .fetch(let id, .since), .fetch(let id, .after), .fetch(let id, .changes),
      .fetch(let id, .newest):
      catchUp = id
      if isOpening { skipped = id }
    case .fetch(let id, .page) where isAnswered:
      catchUp = id
      lookup = id
    case .open, .close, .ping, .refreshCredentials, .fetch, .post, .upload, .load, .commit,
      .readOlder, .update:
      return
    }
  }

  /// Removes the messages from the newest page with which a catch-up by time ends.
  ///
  /// Otherwise that page would repair the effects of the defect.
  private mutating func withoutLookup(_ input: StreamModel.Input) -> StreamModel.Input {
    isAnswered = false
    guard case .fetched(let id, _) = input, id == catchUp else { return input }
    isAnswered = true
    return id == lookup ? .fetched(id, Page(messages: [], hasNext: false)) : input
  }

  /// Removes the messages from the answer to the fetch after a connect.
  private mutating func withoutSecondFetch(_ input: StreamModel.Input) -> StreamModel.Input {
    isOpening = input.isOpened
    guard case .fetched(let id, _) = input, id == skipped else { return input }
    return .fetched(id, Page(messages: [], hasNext: false))
  }

  private mutating func withoutBuffer(_ input: StreamModel.Input) -> [StreamModel.Input] {
    let real = withoutLookup(input)
    return drops(input) ? [] : [real]
  }

  /// Returns whether an input is a frame that arrives while a connection's catch-up is in progress.
  private mutating func drops(_ input: StreamModel.Input) -> Bool {
    if case .fetched(let id, _) = input, id == catchUp { catchUp = nil }
    if case .fetchFailed(let id, _) = input, id == catchUp { catchUp = nil }
    switch StreamModel.role(of: input) {
    case .opened, .lost:
      catchUp = nil
      return false
    case .data: return isConnected && catchUp != nil
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .draining, .received,
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

// Data that a launch loses.
extension StreamSeam {
  /// Fills the screen from the store. The client receives only the top message, from which the
  /// reader continues to scroll.
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
