import LinkCore
import LinkWire
import Testing

/// Random messages of one shop.
private struct RandomMessages: RandomSource {
  var chance: Chance
  let shop: ShopID

  mutating func message() -> Message {
    Message(
      id: UUID128(high: UInt64(number(0...1)), low: UInt64(number(0...9))), shop: shop,
      user: one(["u", "v"]), username: nil, text: "\(number(0...99))",
      createdAt: Timestamp(nanoseconds: Int64(number(0...5))), updatedAt: maybe(time()),
      isEdited: oneIn(2))
  }

  mutating func time() -> Timestamp { Timestamp(nanoseconds: Int64(number(0...5))) }

  mutating func change() -> TimelineChange {
    TimelineChange(messages: (0..<number(0...4)).map { _ in message() })
  }
}

/// Random changes of what phones and servers keep of a message stream.
@Suite struct KeptStreamTests {
  private let shop: ShopID

  init() throws { shop = try #require(ShopID("shop")) }

  @Test func `a kept timeline is in order, and tells what is new and what was edited`() {
    for seed: UInt64 in 0..<100 {
      var random = RandomMessages(chance: Chance(seed: seed), shop: shop)
      var kept = KeptTimeline()
      for _ in 0..<30 {
        let change = random.change()
        let before = kept.messages
        let commit = kept.commit(change)
        let (ids, known) = (Set(change.messages.map(\.id)), Set(before.keys))
        #expect(Set(commit.inserted) == ids.subtracting(known), "seed \(seed)")
        #expect(ids.intersection(known).isSuperset(of: commit.edited), "seed \(seed)")
        #expect(kept.messages.values.map(\.key).sorted() == kept.ordered, "seed \(seed)")
        #expect(kept.load(limit: .max).messages.map(\.key) == kept.ordered, "seed \(seed)")
        for id in known where !commit.edited.contains(id) {
          #expect(kept.messages[id] == before[id], "seed \(seed)")
        }
        #expect(kept.commit(change) == TimelineCommit(), "seed \(seed)")
      }
    }
  }

  @Test func `older pages of a kept timeline lead through all of it`() {
    for seed: UInt64 in 0..<100 {
      var random = RandomMessages(chance: Chance(seed: seed), shop: shop)
      var kept = KeptTimeline()
      for _ in 0..<10 { _ = kept.commit(random.change()) }
      let limit = random.number(1...4)
      var found = kept.load(limit: limit).messages
      while let first = found.first {
        let older = kept.older(than: first.key, limit: limit)
        if older.isEmpty { break }
        found = older + found
      }
      #expect(found.map(\.key) == kept.ordered, "seed \(seed)")
    }
  }

  @Test func `pages after a position lead through all of a log, and a key stores once`() {
    for seed: UInt64 in 0..<100 {
      var random = RandomMessages(chance: Chance(seed: seed), shop: shop)
      var log = KeptLog(epoch: "e")
      for _ in 0..<30 {
        let key = random.maybe(UUID128(high: 0, low: UInt64(random.number(0...6))))
        let entry = LogEntry(message: random.message(), key: key)
        let before = log.messages
        let appended = try? log.append(entry).get()
        if appended?.isNew == true {
          #expect(log.messages.dropLast() == before[...], "seed \(seed)")
          #expect(log.messages.last == appended?.message, "seed \(seed)")
          if key != nil {
            #expect((try? log.append(entry).get())?.isNew == false, "seed \(seed)")
          }
        } else {
          #expect(log.messages == before, "seed \(seed)")
        }
      }
      #expect(log.messages.map(\.position?.offset) == log.messages.indices.map { UInt64($0) + 1 })
      var found: [Message] = []
      var position = Position(epoch: "e", offset: 0)
      while true {
        let page = log.page(.after(position, limit: random.number(1...4)))
        found += page.messages
        guard page.hasNext, let last = page.messages.last?.position else { break }
        position = last
      }
      #expect(found == log.messages, "seed \(seed)")
    }
  }
}
