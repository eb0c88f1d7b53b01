import LinkCore
import LinkWire

/// Knows how far the timeline is whole, and what is being fetched to make it so.
struct Recovery: Sendable, Hashable {
  /// How far it is whole; moves only with what goes to the store in the same change.
  var cursor = Cursor()
  /// The fetch under way.
  var run: Run?
  /// Something happened that the present run may have missed: run again when it is over.
  var again = false
  /// Whether the last run went through to its end, in this session.
  var isCurrent = false
  /// Offsets that came over the socket beyond the cursor.
  var ahead: Set<UInt64> = []
  /// When a failed catch-up is tried again, and how often it failed.
  var retryAt: Instant?
  var failures = 0
  /// Whether the server gives positions; `nil` before it said anything.
  var hasPositions: Bool?

  /// Why something is fetched; several reasons may share one run.
  enum Purpose: Sendable, Hashable {
    /// Before a connect.
    case prepare(AttemptID)
    /// To close the hole after a connect, or one found later.
    case live
    /// The standby's poll.
    case poll(UInt64)
    /// The user pulled, or the outbox wants to know.
    case refresh
  }

  struct Run: Sendable, Hashable {
    var fetch: FetchID
    var query: PageQuery
    var kind: Kind
    var purposes: [Purpose]
    var until: Instant
    var pages = 1
    /// The head that the first page stated: all up to it is covered when the run is over.
    var firstHead: Position?
    /// The newest creation seen.
    var newest: Timestamp?
    /// Ids of the page before, to see a server that repeats itself.
    var lastPage: Set<MessageID> = []
  }

  enum Kind: Sendable, Hashable {
    /// Nothing is kept yet: the newest page.
    case initial
    /// A long absence: the newest page, and a gap if that does not reach what is kept.
    case recent
    /// Everything after a position.
    case position
    /// Everything since a time less an overlap.
    case since(Timestamp)
  }

  var deadline: Instant? {
    run?.until ?? retryAt
  }

  /// What to fetch, given what is kept and how long it is since it was whole.
  func plan(_ settings: StreamSettings, at wall: Timestamp) -> (Kind, PageQuery) {
    guard cursor.position != nil || cursor.time != nil else {
      return (.initial, .page(number: 1, limit: settings.historyPage))
    }
    if let wholeAt = cursor.wholeAt, wholeAt.duration(to: wall) > settings.longAbsence {
      return (.recent, .page(number: 1, limit: settings.catchUpPage))
    }
    if let position = cursor.position {
      return (.position, .after(position, limit: settings.catchUpPage))
    }
    let since = (cursor.time ?? wall).advanced(by: .zero - settings.overlap)
    return (.since(since), .since(since, page: 1, limit: settings.catchUpPage))
  }

  /// Takes a position that came over the socket. True when nothing is missing before it.
  mutating func take(_ position: Position, advancing: Bool) -> Bool {
    guard let kept = cursor.position, kept.epoch == position.epoch else { return false }
    guard position.offset > kept.offset else { return true }
    if ahead.count < 10_000 { ahead.insert(position.offset) }
    return advancing && advance()
  }

  /// Moves the cursor over all offsets that follow it without a hole; true when none is left over.
  mutating func advance() -> Bool {
    guard var position = cursor.position else { return ahead.isEmpty }
    while ahead.remove(position.offset + 1) != nil { position.offset += 1 }
    cursor.position = position
    ahead = ahead.filter { $0 > position.offset }
    return ahead.isEmpty
  }
}
