package import HoldfastCore
package import HoldfastMessageData

/// Random requests and queries for logs. Users, keys and messages repeat often.
package struct RandomLog {
  package var generator: RandomSource
  private let shops: [ShopID]
  /// The lengths of texts, in bytes.
  private let lengths: [Int]
  /// Whether there is a single user and no key, so that few requests are refused.
  private let isCalm: Bool
  private var count: UInt64 = 0
  private var texts: UInt64 = 0
  private var time: Int64 = 0

  package init(seed: UInt64, shops: [ShopID], lengths: [Int], isCalm: Bool = false) {
    (generator, self.shops, self.lengths) = (RandomSource(seed: seed), shops, lengths)
    self.isCalm = isCalm
  }

  private func id(_ number: UInt64) -> UUID128 {
    // Real ids are random, so neighbouring messages have distant ids.
    UUID128(high: number &* 0x9E37_79B9_7F4A_7C15, low: number)
  }

  /// Returns the ID of a message, which may not exist.
  private mutating func known() -> MessageID {
    id(UInt64.random(in: 0...count + 1, using: &generator))
  }

  private mutating func user() -> String {
    isCalm ? "u" : generator.one(["u", "v", "a-longer-user-id-0123456789"])
  }

  private mutating func key() -> UUID128? {
    guard !isCalm else { return nil }
    let keys = 1...max(6, count / 2)
    return generator.maybe { UUID128(high: 5, low: UInt64.random(in: keys, using: &$0)) }
  }

  /// Returns a text that no other text contains, unless it is empty.
  package mutating func text() -> String {
    texts += 1
    let length = generator.one(lengths)
    let mark = "<\(texts)|\(UInt64.random(in: .min ... .max, using: &generator))>"
    let count = (length + mark.utf8.count - 1) / mark.utf8.count
    return String(repeating: mark, count: count)
  }

  package mutating func request() -> LogRequest {
    time += Int64.random(in: -3_000...9_000, using: &generator)
    let shop = generator.one(shops)
    switch Int.random(in: 0...9, using: &generator) {
    case 0...4:
      count += generator.one([0, 1, 1, 1])
      let message = ShopMessage(
        id: id(count), shop: shop, user: user(), username: generator.maybe { $0.id() },
        text: text(), createdAt: Timestamp(nanoseconds: time),
        parent: generator.flag() ? id(1 + count / 2) : nil)
      return .post(LogEntry(message: message, key: key()))
    case 5...7:
      return .edit(
        LogEdit(
          id: known(), shop: shop, text: generator.one([text(), text(), "same"]),
          at: Timestamp(nanoseconds: time), by: LogActor(user: user()), key: key(),
          window: isCalm ? nil : generator.one([nil, nil, .nanoseconds(50_000)])))
    case _:
      let actor = LogActor(user: user(), isAdmin: generator.flag())
      return .delete(LogDeletion(id: known(), shop: shop, by: actor))
    }
  }

  /// Returns a query about a shop whose newest position is `head`.
  package mutating func query(_ head: ShopPosition) -> PageQuery {
    var position = head
    position.offset = UInt64.random(in: 0...head.offset + 1, using: &generator)
    if generator.one([false, false, false, false, true]) { position.epoch = "none" }
    let limit = generator.one([0, 1, 2, 5, 100])
    let number = generator.one([1, 1, 2, 9])
    return switch Int.random(in: 0...7, using: &generator) {
    case 0: .page(number: number, limit: limit)
    case 1:
      .since(
        Timestamp(nanoseconds: Int64.random(in: -1...max(time, 1), using: &generator)),
        page: number, limit: limit)
    case 2: .after(position, limit: limit)
    case 3: .before(position, limit: limit)
    case 4: .changes(after: position, limit: limit)
    case 5: .newest(knowing: position, limit: limit)
    case 6: .beforeID(known(), limit: limit)
    case _: .afterID(known(), limit: limit)
    }
  }
}
