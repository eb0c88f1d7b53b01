import LinkCore
import Testing

@testable import LinkSimulator

extension TwinWalk {
  /// Returns what a new walk notes of what it compares.
  static func finding(_ act: (inout Self) throws -> Void) throws -> String? {
    var walk = try #require(Self(Chance(seed: 1)))
    try act(&walk)
    return walk.stray
  }

  /// Whether a new walk notes a difference that begins with these words.
  static func finds(_ what: String, _ act: (inout Self) throws -> Void) throws -> Bool {
    try finding(act)?.hasPrefix(what + " is ") == true
  }

  /// Expects that a new walk finds nothing in a value, and a difference that begins with the words
  /// of each change once that is made to the value.
  static func expect<Value>(
    _ good: Value, _ changes: [(String, (inout Value) -> Void)],
    at place: SourceLocation = #_sourceLocation,
    _ compare: (inout Self, Value) throws -> Void
  ) throws {
    #expect(try finding { try compare(&$0, good) } == nil, sourceLocation: place)
    for (what, change) in changes {
      var value = good
      change(&value)
      let stray = try finding { try compare(&$0, value) } ?? "nothing"
      #expect(stray.hasPrefix(what), "not \(what)", sourceLocation: place)
    }
  }
}

extension TwinWalk {
  /// Expects of each act that a new walk notes a difference that begins with its words, or nothing
  /// if it has none.
  static func expect(
    each acts: [(String?, (inout Self) throws -> Void)],
    at place: SourceLocation = #_sourceLocation
  ) throws {
    for (what, act) in acts {
      let stray = try finding(act)
      let isRight = what.map { stray?.hasPrefix($0 + " is ") == true } ?? (stray == nil)
      #expect(isRight, "\(stray ?? "nothing"), not \(what ?? "nothing")", sourceLocation: place)
    }
  }
}

/// Walks beside second accounts.
@Suite struct WalkTests {
  private static func check(_ type: (some TwinWalk).Type, _ steps: Int) throws {
    var walk = try #require(type.init(Chance(seed: 1)))
    #expect(walk.walk(steps) == nil)
    walk.compare("one", 1, 2)
    walk.compare("another", 3, 4)
    #expect(walk.walk(steps) == "one is 1, and must be 2")
  }

  @Test func `walks of pulls return the first difference that they find`() throws {
    try Self.check(RelayPullWalk.self, 500)
  }

  @Test func `walks of links return the first difference that they find`() throws {
    try Self.check(TimeWalk.self, 3)
    try Self.check(NameWalk.self, 3)
    try Self.check(FailureWalk.self, 2)
    try Self.check(PolicyWalk.self, 4)
    try Self.check(PolicyTextWalk.self, 3)
    try Self.check(CodedWalk.self, 2)
    try Self.check(LinkPartsWalk.self, 2)
    try Self.check(QueueWalk.self, 45)
    try Self.check(QueueWindowsWalk.self, 15)
  }

  @Test func `walks of messages return the first difference that they find`() throws {
    try Self.check(StreamWireWalk.self, 20)
    try Self.check(TokenWalk.self, 20)
    try Self.check(StreamKeptWalk.self, 60)
    try Self.check(ShopWordsWalk.self, 20)
    try Self.check(RelayWireWalk.self, 10)
    try Self.check(RelayKeptWalk.self, 10)
    try Self.check(MCPWireWalk.self, 10)
    try Self.check(MCPServerWalk.self, 60)
  }

  @Test func `walks of what servers share return the first difference that they find`() throws {
    try Self.check(PartsWalk.self, 20)
    try Self.check(PartsDoorsWalk.self, 100)
    try Self.check(PartsProxiesWalk.self, 100)
    try Self.check(StreamPhoneWalk.self, 200)
  }
}
