import HoldfastCore
import HoldfastMessageData

/// The order in which a server without positions lists messages, as far as it is known, and what
/// pages say about deleted messages.
///
/// The server lists messages by the time of creation or of arrival. In both cases two messages
/// never change places, and a page is a contiguous part of the list. If a message was known before
/// a page was requested, and the page has messages on both sides of its place but not the message
/// itself, the server has deleted it. A timestamp alone proves nothing, since clocks can go back.
struct ServerOrder: Sendable, Hashable {
  /// The known messages, oldest first, so that a new message is appended.
  private var entries: ArraySlice<Entry> = []
  /// The latest time of creation of the known messages.
  private var latest: Timestamp?

  private struct Entry: Sendable, Hashable {
    var id: MessageID
    var createdAt: Timestamp
    /// The number of the last page request before the message was known to be here.
    var known: UInt64
  }

  /// The maximum number of messages whose order is remembered.
  static let limit = 1000

  /// The known messages, newest first.
  var ids: [MessageID] { entries.reversed().map(\.id) }

  /// Puts a message from the socket above all others. The cost is O(1), amortized.
  ///
  /// A message that is not stamped later than all others may have another place.
  mutating func put(_ message: ShopMessage, asked: UInt64) {
    guard let latest, message.createdAt > latest else { return }
    entries.append(entry(message, asked))
    self.latest = message.createdAt
    // The newest message is the latest one, so that the oldest one is not.
    if entries.count > Self.limit { entries.removeFirst() }
  }

  mutating func remove(_ id: MessageID) {
    let rest = entries.filter { $0.id != id }
    if rest.count < entries.count { set(rest.reversed()) }
  }

  /// Learns the order of a page's messages. Returns the messages that the server does not have any
  /// more.
  ///
  /// - Parameters:
  ///   - request: The number of the request for the page.
  ///   - asked: The number of the newest request for a page.
  ///   - overlap: The time by which a later message may be stamped earlier.
  mutating func take(
    _ page: Page, number: Int, request: UInt64, asked: UInt64, overlap: Duration
  ) -> [MessageID] {
    let known = Array(entries.reversed())
    let places = places(of: page.messages, in: known)
    let shared = page.messages.compactMap { places[$0.id] }
    guard let first = shared.first, let last = shared.last else {
      if number == 1 { set(page.messages.map { entry($0, asked) }) }
      return []
    }
    guard zip(shared, shared.dropFirst()).allSatisfy(<) else {
      // The server changed its order.
      set(page.messages.map { entry($0, asked) })
      return []
    }
    let newest = page.messages.map(\.createdAt).max()
    let gone = known[..<last].enumerated().filter { place, entry in
      guard places[entry.id] == nil, entry.known < request, page.rejected == 0 else { return false }
      if place > first { return true }
      // The first page lists everything above. A server that lags behind may lack the newest
      // messages, but not one that is older than another.
      let later = entry.createdAt.advanced(by: overlap)
      return number == 1 && newest.map { $0 > later } ?? false
    }
    merge(page.messages, places, into: known, from: first, to: last, asked)
    return gone.map(\.element.id)
  }

  /// Returns the places of those messages of a page that are known.
  private func places(of messages: [ShopMessage], in known: [Entry]) -> [MessageID: Int] {
    let ids = Set(messages.map(\.id))
    var places: [MessageID: Int] = [:]
    for (place, entry) in known.enumerated() where ids.contains(entry.id) {
      places[entry.id] = place
    }
    return places
  }

  /// Replaces the part that a page covers. Messages above or below the page are kept if the page
  /// has no unknown messages there.
  private mutating func merge(
    _ messages: [ShopMessage], _ places: [MessageID: Int], into known: [Entry],
    from first: Int, to last: Int, _ asked: UInt64
  ) {
    let isNewAbove = messages.first.map { places[$0.id] == nil } ?? false
    let isNewBelow = messages.last.map { places[$0.id] == nil } ?? false
    let above = isNewAbove ? [] : known[..<first]
    let below = isNewBelow ? [] : known[(last + 1)...]
    let part = messages.map { message in
      places[message.id].map { known[$0] } ?? entry(message, asked)
    }
    set(above + part + below)
  }

  private func entry(_ message: ShopMessage, _ asked: UInt64) -> Entry {
    Entry(id: message.id, createdAt: message.createdAt, known: asked)
  }

  /// Replaces the known messages, which are given newest first.
  private mutating func set(_ newestFirst: some Sequence<Entry>) {
    entries = newestFirst.prefix(Self.limit).reversed()[...]
    latest = entries.map(\.createdAt).max()
  }
}

extension ServerOrder: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(entries.count <= Self.limit, "order: it remembers a bounded number of messages")
    guard check.isThorough else { return }
    check.require(
      Set(ids).count == entries.count, "order: each message has one place")
    check.require(
      latest == entries.map(\.createdAt).max(), "order: it knows the latest time of creation")
  }
}

// Deletions, as the pages of a server without positions show them.
extension StreamModel {
  /// Removes the messages that a page shows to be deleted.
  mutating func takeOrder(
    _ page: Page, _ query: PageQuery, _ request: FetchID, _ step: inout Step
  ) {
    guard recovery.hasPositions != true, page.head == nil, !takesNoMore, !unsettled.isFull,
      case .page(let number, _) = query
    else { return }
    let gone = order.take(
      page, number: number, request: request.number, asked: requests.last,
      overlap: settings.overlap)
    for id in gone { delete(DeletedMessage(id: id), &step) }
  }
}
