import LinkCore
import LinkWire

/// The server of a walk, of either kind, that is not always right.
struct StreamPhoneHouse: RandomWalk {
  var chance: Chance
  let isPlain: Bool
  private let shop: ShopID
  private var roll = StreamKeptRoll("e")
  private var count: UInt64 = 0
  /// How far behind its clock is.
  private var lag: Int64 = 0

  init(_ shop: ShopID, isPlain: Bool, _ chance: Chance) {
    (self.shop, self.isPlain, self.chance) = (shop, isPlain, chance)
  }

  var messages: [Message] { roll.messages }
  var head: Position { roll.head }

  static let failures: [LinkFailure] = [
    .reset, .ended, .timeout(.response), .timeout(.pong), .timeout(.connect), .refused,
    .unreachable(detail: ""), .dns(detail: ""), .proxy(detail: ""), .captivePortal,
    .local(detail: ""), .protocolError(detail: ""), .tls(.expired, detail: ""),
    .http(status: 400, retryAfter: nil, detail: ""),
    .http(status: 401, retryAfter: nil, detail: ""),
    .http(status: 401, retryAfter: nil, detail: ""),
    .http(status: 403, retryAfter: nil, detail: ""),
    .http(status: 404, retryAfter: nil, detail: "none"),
    .http(status: 413, retryAfter: nil, detail: ""),
    .http(status: 413, retryAfter: nil, detail: "long"),
    .http(status: 429, retryAfter: .seconds(7), detail: ""),
    .http(status: 500, retryAfter: nil, detail: ""),
    .http(status: 503, retryAfter: .seconds(2), detail: ""),
    .closed(code: 1000, reason: ""), .closed(code: 1001, reason: ""),
    .closed(code: 1008, reason: ""), .closed(code: 4401, reason: ""),
    .closed(code: 4403, reason: ""), .closed(code: 4409, reason: ""),
    .closed(code: 1011, reason: ""),
  ]

  private mutating func message(_ user: String, _ text: String, _ wall: Timestamp) -> Message {
    count += 1
    let seconds = wall.nanoseconds / 1_000_000_000 - lag - Int64(one([0, 0, 0, 1, 3, 4, 5, 9]))
    return Message(
      id: UUID128(high: UInt64(number(0...2)), low: count), shop: shop, user: user, username: nil,
      text: text, createdAt: Timestamp(nanoseconds: seconds * 1_000_000_000))
  }

  private mutating func append(_ message: Message, key: UUID128?) -> Message {
    if case .success(let appended) = roll.append(LogEntry(message: message, key: key)) {
      return worded(appended.message)
    }
    return worded(message)
  }

  /// Another user says something.
  mutating func talk(at wall: Timestamp) {
    let message = message(one(["you", "you", "me"]), one(["a", "b", "c"]), wall)
    _ = append(message, key: nil)
  }

  /// Takes a post.
  mutating func take(_ entry: OutboxEntry, at wall: Timestamp) -> Message {
    var message = message("me", entry.text, wall)
    message.parent = entry.parent
    return append(message, key: isPlain ? nil : entry.id)
  }

  /// Edits a message, or loses some.
  mutating func change(at wall: Timestamp) {
    switch number(0...7) {
    case 0: if happens(2) { roll.begin(one(["e", "f"]), keeping: number(0...9)) }
    case 1:
      let lost = number(1...6)
      roll.cut(lost)
      for _ in 0..<lost where !happens(4) { talk(at: wall) }
    case 2: lag = one([0, 0, 6, 60])
    case _:
      if roll.messages.isEmpty { return }
      let time = wall.advanced(by: .seconds(number(-3...3)))
      roll.edit(number(max(0, roll.messages.count - 6)...roll.messages.count - 1), "edit", time)
    }
  }

  /// A message as it is sent.
  func worded(_ message: Message) -> Message {
    var message = message
    if isPlain { message.position = nil }
    return message
  }

  /// Some message of the log.
  mutating func any() -> Message? {
    if messages.isEmpty { return nil }
    var message = worded(messages[number(0...messages.count - 1)])
    if happens(4) { message.text = "late" }
    if happens(4) { message.updatedAt = message.createdAt.advanced(by: .seconds(number(-1...9))) }
    return message
  }

  mutating func anyID() -> MessageID? { any()?.id }

  // Pages.

  mutating func page(_ query: PageQuery) -> Page {
    var page = isPlain ? plain(query) : roll.page(query, byTime: happens(9))
    guard happens(7) else { return page }
    switch number(0...7) {
    case 0: page.hasNext.toggle()
    case 1: page.messages = Array(page.messages.dropFirst(number(0...2)))
    case 2: page.messages = page.messages.reversed()
    case 3:
      page.rejected = page.messages.count + number(0...1)
      page.fault = happens(2) ? .missing(field: "x") : nil
      page.messages = []
    case 4: page.rejected = number(1...2)
    case 5: page.head = happens(2) ? nil : Position(epoch: "f", offset: UInt64(number(0...9)))
    case 6:
      page.recovered = false
      page.messages.removeAll { _ in happens(2) }
    case _: (page.messages, page.hasNext) = ([], happens(2))
    }
    return page
  }

  /// Pages of a plain server: by number, newest first.
  private func plain(_ query: PageQuery) -> Page {
    let all = messages.map(worded).sorted { $1.key < $0.key }
    let (list, number, limit) =
      switch query {
      case .page(let number, let limit): (all, number, limit)
      case .since(let time, let number, let limit):
        (all.filter { $0.createdAt > time }, number, limit)
      case .after(_, let limit), .before(_, let limit): (all, 1, limit)
      }
    let rest = list.dropFirst((number - 1) * limit)
    return Page(messages: Array(rest.prefix(limit)), hasNext: rest.count > limit)
  }
}
