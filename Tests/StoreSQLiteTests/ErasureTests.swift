import Foundation
import HoldfastCore
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests that no file of a phone's timelines contains a text that was edited or deleted.
@Suite struct ErasureTests {
  /// A shop with texts that occur once each.
  private struct Texts {
    var random: RandomSource
    let shop: ShopID
    var stored: [ShopMessage] = []
    var gone: [String] = []
    private var number: UInt64 = 0

    init(seed: UInt64, shop: ShopID) {
      (random, self.shop) = (RandomSource(seed: seed), shop)
    }

    private mutating func text() -> String {
      let length = [0, 20, 300, 1_500, 9_000][Int(random.next() % 5)]
      return "text \(random.next())." + String(repeating: "x", count: length)
    }

    /// Returns the next change: new messages, edits and deletions.
    mutating func change() -> TimelineChange {
      var change = TimelineChange()
      for _ in 0..<1 + random.next() % 6 {
        number += 1
        var message = Sample.message(number, in: shop, text: text())
        message.createdAt = Timestamp(nanoseconds: Int64(random.next() % 1_000_000))
        change.messages.append(message)
      }
      for _ in 0..<random.next() % 3 where !stored.isEmpty {
        let index = Int(random.next() % UInt64(stored.count))
        gone.append(stored[index].text)
        stored[index].text = text()
        stored[index].changed = ShopPosition(epoch: "e", offset: UInt64(gone.count))
        change.edits.append(stored[index])
      }
      for _ in 0..<random.next() % 3 where !stored.isEmpty {
        let message = stored.remove(at: Int(random.next() % UInt64(stored.count)))
        change.edits.removeAll { $0.id == message.id }
        gone.append(message.text)
        change.deletions.append(DeletedMessage(id: message.id))
      }
      stored += change.messages
      return change
    }

    /// Returns the texts that are gone and whose beginning the bytes contain.
    func found(in bytes: Data) -> Set<Data> {
      Set(gone.map(Self.start)).intersection(Self.starts(in: bytes))
    }

    /// Returns the beginning of a text, up to the point.
    static func start(of text: String) -> Data { Data(text.utf8.prefix { $0 != 0x2E }) }

    /// Returns the beginnings of all texts in the bytes.
    static func starts(in bytes: Data) -> Set<Data> {
      var found: Set<Data> = []
      var rest = bytes[...]
      while let range = rest.range(of: Data("text ".utf8)) {
        let end = rest[range.upperBound...].prefix(24).firstIndex(of: 0x2E)
        if let end { found.insert(Data(rest[range.lowerBound..<end])) }
        rest = rest[range.upperBound...]
      }
      return found
    }
  }

  private static func bytes(in scratch: Scratch) throws -> Data {
    var all = Data()
    for name in try FileManager.default.contentsOfDirectory(atPath: scratch.path) {
      all += try Data(contentsOf: URL(fileURLWithPath: scratch(name)))
    }
    return all
  }

  @Test func `an edit that waited for a deleted message leaves all files`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    let entry = OutboxEntry(
      id: UUID128(high: 1, low: 1), shop: shop, text: "a secret edit",
      createdAt: Timestamp(nanoseconds: 7), action: .edit(UUID128(high: 1, low: 2)))
    _ = try await store.commit(TimelineChange(outboxPut: [entry]), to: shop)
    #expect(try Self.bytes(in: scratch).range(of: Data(entry.text.utf8)) != nil)
    // The message itself was never stored here.
    _ = try await store.commit(
      TimelineChange(
        deletions: [DeletedMessage(id: UUID128(high: 1, low: 2))], outboxRemove: [entry.id]),
      to: shop)
    #expect(try Self.bytes(in: scratch).range(of: Data(entry.text.utf8)) == nil)
    await store.close()
  }

  @Test(arguments: 1...4)
  func `after each commit, no file contains an earlier text`(seed: UInt64) async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    var texts = Texts(seed: seed, shop: shop)
    let store = try await SQLiteTimelineStore.open(in: scratch.path)
    for step in 1...150 {
      let change = texts.change()
      let commit = try await store.commit(change, to: shop)
      #expect(commit.deleted.map(\.id) == change.deletions.map(\.id))
      guard step % 30 == 0 else { continue }
      #expect(texts.found(in: try Self.bytes(in: scratch)).isEmpty)
    }
    let bytes = try Self.bytes(in: scratch)
    #expect(Texts.starts(in: bytes).isSuperset(of: texts.stored.map { Texts.start(of: $0.text) }))
    #expect(try await store.load(shop, limit: 5_000).messages.count == texts.stored.count)
    try await store.check()
    await store.close()
    #expect(texts.found(in: try Self.bytes(in: scratch)).isEmpty)
  }

  @Test func `texts that a killed process left in its log are removed by the next commit`()
    async throws
  {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let first = Sample.message(1, in: shop, text: "an earlier text")
    var edit = first
    (edit.text, edit.changed) = ("later", ShopPosition(epoch: "e", offset: 2))
    do {
      let killed = try await SQLiteTimelineStore.open(in: scratch.path)
      _ = try await killed.commit(TimelineChange(messages: [first]), to: shop)
      // A reader keeps the log from being truncated.
      let reader = try Database(
        path: scratch("timeline.sqlite"), access: .read, busyTimeout: .zero,
        schema: TimelineTables.schema)
      try reader.execute("BEGIN; SELECT count(*) FROM messages")
      _ = try await killed.commit(TimelineChange(edits: [edit]), to: shop)
      #expect(try Self.bytes(in: scratch).range(of: Data(first.text.utf8)) != nil)
      try reader.execute("COMMIT")
      _ = try await killed.commit(TimelineChange(cursor: ShopCursor()), to: shop)
      #expect(try Self.bytes(in: scratch).range(of: Data(first.text.utf8)) == nil)
      await killed.close()
    }
  }
}
