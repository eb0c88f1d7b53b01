import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// A server for random streams, with or without positions. It makes mistakes.
struct StreamServer: RandomValues {
  var generator: RandomSource
  let isPlain: Bool
  private let shop: ShopID
  private var log = StoredLog(epoch: "e")
  private var edits: [MessageID: ShopMessage] = [:]
  private var count: UInt64 = 0
  /// The number of seconds by which the server's clock is slow.
  private var lag: Int64 = 0

  init(_ shop: ShopID, isPlain: Bool, _ generator: RandomSource) {
    (self.shop, self.isPlain, self.generator) = (shop, isPlain, generator)
  }

  var messages: [ShopMessage] { log.messages }
  var head: ShopPosition { log.head }

  private mutating func message(_ user: String, _ text: String, _ wall: Timestamp) -> ShopMessage {
    count += 1
    let seconds = wall.nanoseconds / 1_000_000_000 - lag - Int64(one([0, 0, 0, 1, 3, 4, 5, 9]))
    return ShopMessage(
      id: UUID128(high: UInt64(number(0...2)), low: count), shop: shop, user: user, username: nil,
      text: text, createdAt: Timestamp(nanoseconds: seconds * 1_000_000_000))
  }

  private mutating func append(_ message: ShopMessage, key: UUID128?) -> ShopMessage {
    guard case .success(let appended) = log.append(LogEntry(message: message, key: key)) else {
      return sent(message)
    }
    return sent(appended.message)
  }

  /// Appends a message of another user.
  mutating func write(at wall: Timestamp) {
    _ = append(message(one(["you", "you", "me"]), one(["a", "b", "c"]), wall), key: nil)
  }

  /// Accepts a post.
  mutating func take(_ entry: OutboxEntry, at wall: Timestamp) -> ShopMessage {
    var message = message("me", entry.text, wall)
    message.parent = entry.parent
    return append(message, key: isPlain ? nil : entry.id)
  }

  /// Edits a message, changes the clock, or loses messages through a new epoch or a restored
  /// backup.
  mutating func change(at wall: Timestamp) {
    switch number(0...7) {
    case 0: if oneIn(2) { log.begin(epoch: one(["e", "f"]), keeping: number(0...9)) }
    case 1:
      let lost = number(1...6)
      let remaining = messages.dropLast(lost)
      log = StoredLog(epoch: log.epoch)
      for message in remaining { _ = log.append(LogEntry(message: message, key: nil)) }
      for _ in 0..<lost where !oneIn(4) { write(at: wall) }
    case 2: lag = one([0, 0, 6, 60])
    case _:
      guard var message = messages.suffix(6).randomElement(using: &generator) else { return }
      message.text = "edit"
      message.updatedAt = wall.advanced(by: .seconds(number(-3...3)))
      edits[message.id] = message
    }
  }

  /// Returns a message in the form in which the server currently sends it.
  func sent(_ message: ShopMessage) -> ShopMessage {
    var sent = edits[message.id] ?? message
    sent.position = isPlain ? nil : message.position
    return sent
  }

  /// Returns a random message of the log, sometimes in a different version.
  mutating func anyMessage() -> ShopMessage? {
    guard let found = messages.randomElement(using: &generator) else { return nil }
    var message = sent(found)
    if oneIn(4) { message.text = "late" }
    if oneIn(4) { message.updatedAt = message.createdAt.advanced(by: .seconds(number(-1...9))) }
    return message
  }

  mutating func page(_ query: PageQuery) -> Page {
    var page = isPlain ? plainPage(query) : log.page(query, byTime: oneIn(9))
    page.messages = page.messages.map { sent($0) }
    guard oneIn(7) else { return page }
    switch number(0...5) {
    case 0: page.hasNext.toggle()
    case 1: page.messages = Array(page.messages.dropFirst(number(0...2)))
    case 2: page.messages = page.messages.reversed()
    case 3: (page.rejected, page.fault) = (number(1...2), maybe(MessageError.missing(field: "x")))
    case 4: page.head = oneIn(2) ? nil : ShopPosition(epoch: "f", offset: UInt64(number(0...9)))
    case _:
      page.recovered = false
      page.messages.removeAll { _ in oneIn(2) }
    }
    return page
  }

  /// Returns a page of a plain server. Pages are numbered, and the newest messages come first.
  private func plainPage(_ query: PageQuery) -> Page {
    let all = messages.map { sent($0) }.sorted { $1.key < $0.key }
    let (list, number, limit) =
      switch query {
      case .page(let number, let limit): (all, number, limit)
      case .since(let time, let number, let limit):
        (all.filter { $0.createdAt > time }, number, limit)
      case .after(_, let limit), .before(_, let limit), .changes(_, let limit),
        .newest(_, let limit), .beforeID(_, let limit), .afterID(_, let limit):
        (all, 1, limit)
      }
    let rest = list.dropFirst((number - 1) * limit)
    return Page(messages: Array(rest.prefix(limit)), hasNext: rest.count > limit)
  }
}
