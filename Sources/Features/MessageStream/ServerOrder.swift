import HoldfastCore
import HoldfastStorage
import HoldfastWire

/// The order in which a server without positions lists messages, as far as it is known, and what
/// pages say about deleted messages.
///
/// The server lists messages by the time of creation or of arrival. In both cases two messages
/// never change places, and a page is a contiguous part of the list. If a message was known before
/// a page was requested, and the page has messages on both sides of its place but not the message
/// itself, the server has deleted it. A timestamp alone proves nothing, since clocks can go back.
struct ServerOrder: Sendable, Hashable {
  /// The known messages, newest first.
  private var entries: [Entry] = []

  private struct Entry: Sendable, Hashable {
    var id: MessageID
    var createdAt: Timestamp
    /// The number of the last page request before the message was known to be here.
    var known: UInt64
  }

  /// The maximum number of messages whose order is remembered.
  static let limit = 1000

  /// The known messages, newest first.
  var ids: [MessageID] { entries.map(\.id) }

  /// Puts a message from the socket above all others.
  ///
  /// A message that is not stamped later than all others may have another place.
  mutating func put(_ message: ShopMessage, asked: UInt64) {
    guard let newest = entries.map(\.createdAt).max(), message.createdAt > newest else { return }
    let entry = Entry(id: message.id, createdAt: message.createdAt, known: asked)
    entries.insert(entry, at: 0)
    trim()
  }

  mutating func remove(_ id: MessageID) { entries.removeAll { $0.id == id } }

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
    let places = places(of: page.messages)
    let shared = page.messages.compactMap { places[$0.id] }
    guard let first = shared.first, let last = shared.last else {
      if number == 1 { entries = page.messages.map { entry($0, asked) } }
      trim()
      return []
    }
    guard zip(shared, shared.dropFirst()).allSatisfy(<) else {
      // The server changed its order.
      entries = page.messages.map { entry($0, asked) }
      return []
    }
    let newest = page.messages.map(\.createdAt).max()
    let gone = entries[..<last].enumerated().filter { place, entry in
      guard places[entry.id] == nil, entry.known < request, page.rejected == 0 else { return false }
      if place > first { return true }
      // The first page lists everything above. A server that lags behind may lack the newest
      // messages, but not one that is older than another.
      let later = entry.createdAt.advanced(by: overlap)
      return number == 1 && newest.map { $0 > later } ?? false
    }
    merge(page.messages, places, from: first, to: last, asked)
    return gone.map(\.element.id)
  }

  /// Returns the places of those messages of a page that are known.
  private func places(of messages: [ShopMessage]) -> [MessageID: Int] {
    let ids = Set(messages.map(\.id))
    var places: [MessageID: Int] = [:]
    for (place, entry) in entries.enumerated() where ids.contains(entry.id) {
      places[entry.id] = place
    }
    return places
  }

  /// Replaces the part that a page covers. Messages above or below the page are kept if the page
  /// has no unknown messages there.
  private mutating func merge(
    _ messages: [ShopMessage], _ places: [MessageID: Int], from first: Int, to last: Int,
    _ asked: UInt64
  ) {
    let isNewAbove = messages.first.map { places[$0.id] == nil } ?? false
    let isNewBelow = messages.last.map { places[$0.id] == nil } ?? false
    let above = isNewAbove ? [] : entries[..<first]
    let below = isNewBelow ? [] : entries[(last + 1)...]
    let part = messages.map { message in
      places[message.id].map { entries[$0] } ?? entry(message, asked)
    }
    entries = above + part + below
    trim()
  }

  private func entry(_ message: ShopMessage, _ asked: UInt64) -> Entry {
    Entry(id: message.id, createdAt: message.createdAt, known: asked)
  }

  private mutating func trim() {
    if entries.count > Self.limit { entries.removeLast(entries.count - Self.limit) }
  }
}

extension ServerOrder: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(entries.count <= Self.limit, "order: it remembers a bounded number of messages")
    guard check.isThorough else { return }
    check.require(
      Set(ids).count == entries.count, "order: each message has one place")
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
