import HoldfastCore
import HoldfastTestKit
import Testing

@testable import HoldfastOperators

/// Tests of which files belong to a backup, and of its first and last member.
@Suite struct BackupTests {
  private static let sum = [UInt8](repeating: 0xA5, count: BackupSums.sumBytes)
  private static let line = String(repeating: "a5", count: BackupSums.sumBytes)

  static let parts: [(String, BackupNames.Role)] = [
    ("secret", .copied), ("removed.json", .copied), ("erasures", .copied),
    ("messages.sqlite", .store), ("old.sqlite", .leftOut), (".hidden", .leftOut),
    ("with space", .leftOut), ("naïve", .leftOut), ("backup.json", .leftOut),
    ("SHA256SUMS", .leftOut), ("messages.lock", .ignored), ("messages.sqlite-wal", .ignored),
    ("messages.sqlite-shm", .ignored), ("messages.sqlite-journal", .ignored),
    ("write-probe.0123456789abcdefghij", .ignored), ("moved", .ignored),
    ("secret.0123456789abcdefghij", .ignored), ("secret.0123456789abcdefghi", .copied),
    ("secret.0123456789abcdefghijklmno", .ignored), ("secret.0123456789abcdefghijklmnop", .copied),
    ("secret.0123456789ABCDEFGHIJ", .copied),
  ]

  @Test(arguments: BackupTests.parts)
  func `each file of a data directory has a part`(_ name: String, _ role: BackupNames.Role) {
    #expect(BackupNames.role(of: name, stores: ["messages.sqlite"]) == role)
  }

  @Test(arguments: [
    "/secret", "../secret", "images/../secret", "images/", "images", "/", "", ".", "..", "a/b",
    "images/a/b", "images//a", "secret/", "a\\b", "a b", "images/.a", "\u{7F}", "é", "a\n",
  ])
  func `no member is outside of the directory`(_ path: String) {
    #expect(!BackupNames.isMember(path))
    #expect(throws: BackupFault.unsafe(member: path)) { try BackupSums().check(path) }
  }

  @Test func `a name has at most 255 bytes`() {
    for (count, isName) in [(0, false), (1, true), (254, true), (255, true), (256, false)] {
      let name = String(repeating: "a", count: count)
      #expect(BackupNames.isMember(name) == isName)
      #expect(BackupNames.isMember("images/\(name)") == isName)
    }
  }

  // MARK: - The first member

  private static func head(program: String = "0.1.0", stores: Int = 1) -> BackupHead {
    BackupHead(
      program: program, madeAt: Timestamp(nanoseconds: 1_000_000_000),
      stores: (0..<stores).map { BackupHead.Store(file: "store\($0).sqlite", version: 7) })
  }

  private static func supporting(_ version: Int) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: (0..<200).map { ("store\($0).sqlite", version) })
  }

  @Test func `what was written can be read`() throws {
    let head = Self.head(stores: 3)
    #expect(try BackupHead.decode(head.encode(), supporting: Self.supporting(7)) == head)
  }

  @Test(arguments: [(99, true), (100, true), (101, false)])
  func `texts and lists are bounded`(_ count: Int, _ isValid: Bool) {
    let long = Self.head(program: String(repeating: "1", count: count))
    let full = Self.head(stores: count)
    for head in [long, full] {
      let found = try? BackupHead.decode(head.encode(), supporting: Self.supporting(7))
      #expect((found != nil) == isValid)
    }
  }

  @Test(arguments: [(6, false), (7, true), (8, true)])
  func `tables of a newer program are refused`(_ supported: Int, _ isRead: Bool) {
    let content = Self.head().encode()
    let versions = Self.supporting(supported)
    guard !isRead else {
      #expect(throws: Never.self) { try BackupHead.decode(content, supporting: versions) }
      return
    }
    #expect(throws: BackupFault.newer(program: "0.1.0")) {
      try BackupHead.decode(content, supporting: versions)
    }
  }

  @Test func `so are an unknown store and a newer format, whatever that contains`() {
    #expect(throws: BackupFault.newer(program: "0.1.0")) {
      try BackupHead.decode(Self.head().encode(), supporting: [:])
    }
    #expect(throws: BackupFault.newer(program: "9.0.0")) {
      try BackupHead.decode(Array(#"{"format":2,"program":"9.0.0"}"#.utf8), supporting: [:])
    }
  }

  @Test(arguments: [
    "", "{}", "[]", #"{"format":0,"program":"1","made_at":"2026-11-29T00:00:00Z"}"#,
    #"{"format":1,"program":"1","made_at":"today"}"#,
    #"{"format":1,"program":"1","made_at":"2026-11-29T00:00:00Z","stores":[{"file":"../x","version":1}]}"#,
    #"{"format":1,"program":"1","made_at":"2026-11-29T00:00:00Z","stores":[{"file":"x","version":0}]}"#,
    #"{"format":1,"program":"1","made_at":"2026-11-29T00:00:00Z","stores":[{"file":"x","version":1},{"file":"x","version":1}]}"#,
  ])
  func `another first member is none of a backup`(_ content: String) {
    do throws(BackupFault) {
      _ = try BackupHead.decode(Array(content.utf8), supporting: ["x": 1])
      Issue.record("it was read")
    } catch {
      guard case .foreign = error else {
        Issue.record("\(error)")
        return
      }
    }
  }

  // MARK: - The checksums

  private static func sums(_ paths: String...) -> BackupSums {
    var sums = BackupSums()
    for path in paths { sums.add(sum, of: path) }
    return sums
  }

  @Test func `the list has the form of sha256sum`() throws {
    let sums = Self.sums("secret", "images/a")
    #expect(sums.content == Array("\(Self.line)  secret\n\(Self.line)  images/a\n".utf8))
    #expect(throws: Never.self) { try sums.compare(with: sums.content) }
    #expect(sums.count == 2)
    #expect(sums.contains("secret") && !sums.contains("images"))
  }

  @Test func `the first difference is named`() {
    let other = "b6" + Self.line.dropFirst(2)
    let cases: [(String, BackupFault)] = [
      ("\(Self.line)  a\n\(other)  b\n", .damaged(member: "b")),
      ("\(Self.line)  a\n", .extra(member: "b")),
      ("\(Self.line)  a\n\(Self.line)  b\n\(Self.line)  c\n", .missing(member: "c")),
      ("\(Self.line)  b\n\(Self.line)  a\n", .cut(reason: "SHA256SUMS has another order")),
      ("\(Self.line)  a\n\(Self.line)  a\n", .twice(member: "a")),
      ("\(Self.line)  a\n\(Self.line)  ../b\n", .unsafe(member: "../b")),
      ("\(Self.line)  a\n\(Self.line)  b", .cut(reason: "line 2 of SHA256SUMS is not valid")),
      ("\(Self.line) a\n", .cut(reason: "line 1 of SHA256SUMS is not valid")),
      ("\(Self.line.dropLast())  a\n", .cut(reason: "line 1 of SHA256SUMS is not valid")),
      ("x\(Self.line.dropFirst())  a\n", .cut(reason: "line 1 of SHA256SUMS is not valid")),
      ("", .extra(member: "a")),
    ]
    for (list, fault) in cases {
      #expect(throws: fault) { try Self.sums("a", "b").compare(with: Array(list.utf8)) }
    }
  }

  @Test func `members are bounded and have different names`() {
    let sums = Self.sums("a", "b")
    #expect(throws: BackupFault.twice(member: "a")) { try sums.check("a") }
    #expect(throws: BackupFault.unsafe(member: "SHA256SUMS")) { try sums.check("SHA256SUMS") }
    #expect(throws: Never.self) { try sums.check("c", atMost: 3) }
    #expect(throws: BackupFault.tooMany(limit: 2)) { try sums.check("c", atMost: 2) }
    #expect(throws: BackupFault.tooMany(limit: 1)) { try sums.check("c", atMost: 1) }
  }
}
