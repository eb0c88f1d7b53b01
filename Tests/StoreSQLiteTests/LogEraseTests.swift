import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests that deleted texts, and texts that were replaced by edits, leave all files of the store.
@Suite struct LogEraseTests {
  /// The texts that are valid, and those that are not any more.
  private struct Texts {
    /// By shop and ID, since two shops may have messages with the same ID.
    var valid: [String: String] = [:]
    var gone: Set<String> = []

    mutating func note(_ outcome: LogOutcome) {
      switch outcome {
      case .posted(let message, isNew: true): valid["\(message.shop) \(message.id)"] = message.text
      case .edited(let message, isNew: true):
        gone.insert(valid.updateValue(message.text, forKey: "\(message.shop) \(message.id)") ?? "")
      case .deleted(let deletion, isNew: true):
        gone.insert(valid.removeValue(forKey: "\(deletion.shop) \(deletion.id)") ?? "")
      case .posted, .edited, .deleted, .refused: break
      }
    }
  }

  /// Returns the marks in the files of a directory. Each text consists of repetitions of its mark.
  private static func marks(in scratch: Scratch) throws -> Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    for name in try FileManager.default.contentsOfDirectory(atPath: scratch.path) {
      let bytes = try scratch.bytes(of: name)
      for start in bytes.indices where bytes[start] == UInt8(ascii: "<") {
        let rest = bytes[start...].prefix(48)
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { continue }
        found.insert(Array(bytes[start...end]))
      }
    }
    return found
  }

  private static func mark(_ text: String) -> [UInt8] {
    Array(text.utf8.prefix { $0 != UInt8(ascii: ">") }) + [UInt8(ascii: ">")]
  }

  private static let lengths: [[Int]] = [
    [20], [20, 60, 200, 900, 3_000], [3_000, 4_000, 9_000, 40_000], [20, 9_000],
  ]

  @Test(arguments: lengths, [1, 2, 3] as [UInt64])
  func `no file contains a deleted text or the text before an edit`(
    lengths: [Int], seed: UInt64
  ) async throws {
    let scratch = try Scratch()
    let shops = [try Sample.shop("s"), try Sample.shop("t")]
    var random = RandomLog(seed: seed, shops: shops, lengths: lengths, isCalm: true)
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    var texts = Texts()
    for _ in 0..<250 {
      let requests = (0..<random.generator.one([1, 1, 3, 20])).map { _ in random.request() }
      for result in await log.append(requests) {
        if let outcome = try? result.get() { texts.note(outcome) }
      }
      guard random.generator.one([true, false, false, false, false]) else { continue }
      try await log.removeTraces()
    }
    #expect(texts.gone.count > 200)
    try await log.removeTraces()
    try check(texts, scratch)
    // After a kill, the files contain what was deleted since. The next start removes it.
    for message in try await log.page(.page(number: 1, limit: 9), of: shops[0]).messages {
      let admin = LogActor(user: "", isAdmin: true)
      texts.note(
        try await log.append(.delete(LogDeletion(id: message.id, shop: shops[0], by: admin))))
    }
    let copy = try Scratch()
    for name in ["messages.sqlite", "messages.sqlite-wal"] {
      try copy.write(try scratch.bytes(of: name), to: name)
    }
    let again = try await SQLiteMessageLog.open(in: copy.path)
    try check(texts, copy)
    await again.close()
    await log.close()
    try check(texts, scratch)
  }

  /// Checks that the files contain exactly the valid texts.
  private func check(_ texts: Texts, _ scratch: Scratch) throws {
    let found = try Self.marks(in: scratch)
    let valid = Set(texts.valid.values.map(Self.mark))
    let gone = Set(texts.gone.map(Self.mark)).subtracting(valid)
    #expect(gone.intersection(found).map { String(decoding: $0, as: UTF8.self) } == [])
    #expect(valid.subtracting(found).filter { $0.count > 10 } == [])
  }

  @Test func `traces remain while another program reads, and go at the next try`() async throws {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let log = try await SQLiteMessageLog.open(in: scratch.path, busyTimeout: .milliseconds(1))
    let message = Sample.message(1, in: shop, text: "<a secret>")
    _ = try await log.append(message, idempotencyKey: nil)
    let reader = try Database(
      path: scratch("messages.sqlite"), access: .read, busyTimeout: .zero,
      schema: LogTables.schema)
    try reader.execute("BEGIN")
    _ = try reader.query("SELECT count(*) FROM messages") { row throws(StoreFailure) in
      try row.integer(0)
    }
    let request = LogDeletion(id: message.id, shop: shop, by: LogActor(user: message.user))
    _ = try await log.append(.delete(request))
    #expect(try await failure { try await log.removeTraces() } == .locked)
    // Random bytes, such as those of checksums, can also look like a mark.
    let secret = Self.mark(message.text)
    #expect(try Self.marks(in: scratch).contains(secret))
    try reader.execute("ROLLBACK")
    try await log.removeTraces()
    #expect(try !Self.marks(in: scratch).contains(secret))
  }
}
