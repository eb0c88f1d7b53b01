import Foundation
import HoldfastCore
import HoldfastMessageData
import Testing

/// Tests of the coded form of outbox entries, which journals contain.
@Suite struct OutboxEntryTests {
  private static let old =
    #"{"createdAt":1,"id":"ba569499-15dc-49e9-90d5-127a96e8d90d","shop":"s1","#
    + #""state":{"queued":{"tries":0}},"text":"x"}"#

  private func coded(_ entry: OutboxEntry) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(entry), as: UTF8.self)
  }

  @Test func `a message has the coded form of earlier versions`() throws {
    let entry = try JSONDecoder().decode(OutboxEntry.self, from: Data(Self.old.utf8))
    #expect(entry.action == .post && entry.image == nil && entry.target == nil)
    #expect(try coded(entry) == Self.old)
  }

  @Test func `edits, deletions and images have members of their own`() throws {
    var entry = try JSONDecoder().decode(OutboxEntry.self, from: Data(Self.old.utf8))
    let target = UUID128(high: 1, low: 2)
    for action in [OutboxEntry.Action.edit(target), .delete(target)] {
      entry.action = action
      #expect(entry.target == target)
      let text = try coded(entry)
      #expect(text.hasPrefix(#"{"action":{""#))
      #expect(try JSONDecoder().decode(OutboxEntry.self, from: Data(text.utf8)) == entry)
    }
    entry.action = .post
    entry.image = OutboxImage(type: .png, size: 5)
    let text = try coded(entry)
    #expect(text.contains(#""image":{"size":5,"type":"png"}"#))
    #expect(try JSONDecoder().decode(OutboxEntry.self, from: Data(text.utf8)) == entry)
  }
}
