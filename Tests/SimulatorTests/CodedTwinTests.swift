import LinkCore
import Testing

@testable import LinkSimulator

/// The second account of what journals keep.
@Suite struct CodedTwinTests {
  @Test func `a tree is written and read as it stands there`() throws {
    let form = CodedTree.parts(["text": .flag(true), "bytes": .whole(2)])
    #expect(try CodedTree.written(SocketMessage(text: [97, 98])) == form)
    let message = try form.read(SocketMessage.self)
    #expect(message.count == 2)
    #expect(message.bytes == nil)
    #expect(try CodedTree.written(Instant(nanoseconds: 7)) == .whole(7))
    #expect(try CodedTree.whole(7).read(Instant.self) == Instant(nanoseconds: 7))
    #expect(throws: CodedTree.Fault.self) { try CodedTree.text("7").read(Instant.self) }
  }

  @Test func `the walk of coded values returns the first difference that it finds`() {
    var walk = CodedWalk(Chance(seed: 1))
    #expect(walk.walk(2) == nil)
    walk.compare("a form", 1, 2)
    walk.compare("a form", 3, 4)
    #expect(walk.walk(2) == "a form is 1, and must be 2")
  }
}
