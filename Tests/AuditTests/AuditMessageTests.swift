import Testing

@testable import HoldfastSessionAudit

/// Tests of the parts of a server's message that an audit evaluates.
@Suite struct AuditMessageTests {
  private static func message(_ text: String) -> AuditMessage {
    AuditMessage(Array(text.utf8), hide: { $0 })
  }

  @Test(arguments: [
    ("a", true), ("z", true), ("a_b", true), ("a0", true), ("a9", true), ("_", true),
    ("A", false), ("aZ", false), ("a`", false), ("a{", false), ("a/", false), ("a:", false),
    ("a^", false), ("a-b", false), ("é", false),
  ])
  func `checks whether names are in snake_case`(name: String, isSnake: Bool) {
    #expect(Self.message(#"{"type":1,"\#(name)":2}"#).isSnake == isSnake)
  }

  @Test(arguments: [
    (#"{"a":{"b_c":[{"d":1}]}}"#, nil), (#"{"a":{"bC":1}}"#, "bC"), (#"{"a":[1,[{"D":1}]]}"#, "D"),
    (#"{"a":"{\"bC\":1}"}"#, nil),
  ])
  func `names of nested members must be in snake_case too`(text: String, odd: String?) {
    #expect(Self.message(text).oddName == odd)
    #expect(Self.message(text).isSnake == (odd == nil))
  }

  @Test(arguments: [0, 1, 63, 64, 65, 100])
  func `stores at most 64 names`(count: Int) {
    let members = (0..<count).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
    let message = Self.message("{\(members)}")
    #expect(message.names == (0..<min(count, 64)).map { "m\($0)" })
    #expect(message.isSnake == (count > 0))
  }

  @Test func `reads no name after a member without a value`() {
    #expect(Self.message(#"{"a":,"B":1}"#).names == ["a"])
  }

  @Test(arguments: [#""a":1"#, #","a":1"#, #"["a"]"#, "7", ""])
  func `a message that is not an object has no names`(text: String) {
    #expect(Self.message(text).names == [])
  }

  @Test(arguments: [159, 160, 161])
  func `cuts a message of more than 160 characters`(count: Int) {
    let text = String(repeating: "é", count: count)
    let message = Self.message(text)
    #expect(message.count == 2 * count)
    #expect(
      message.excerpt
        == (count > 160 ? String(repeating: "é", count: 160) + "… (\(2 * count) bytes)" : text))
  }

  @Test func `phases are ordered`() {
    let phases: [AuditScript.Phase] = [.first, .second, .third]
    for (index, phase) in phases.enumerated() {
      #expect(phases.map { $0 < phase } == phases.indices.map { $0 < index })
    }
  }
}
