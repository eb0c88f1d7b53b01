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

  @Test func `a value that is kept otherwise is found`() throws {
    let (instant, form) = (Instant(nanoseconds: 7), CodedTree.whole(7))
    let read = try CodedTree.parts(["text": .flag(true), "bytes": .whole(2)])
      .read(SocketMessage.self)
    let few = ["preset": CodedTree.text("socket")]
    try CodedWalk.expect(each: [
      (nil, { $0.compare(instant, is: form, [(form, instant), (.text("7"), nil)]) }),
      ("the form of \(instant)", { $0.compare(instant, is: .whole(8), []) }),
      ("\(form), read as Instant,", { $0.compare(instant, is: form, [(form, nil)]) }),
      (nil, { $0.compareMessage(read, 2, isText: true) }),
      ("whether there is a message of 2 bytes", { $0.compareMessage(nil, 2, isText: true) }),
      ("the size of a message of 3 bytes", { $0.compareMessage(read, 3, isText: true) }),
      ("whether a message of 2 bytes is a text", { $0.compareMessage(read, 2, isText: false) }),
      ("the content of a message of 2 bytes", { $0.compareMessage(.text("ab"), 2, isText: true) }),
      (nil, { $0.comparePolicy(.socket, of: few) }),
      ("\(few), read,", { $0.comparePolicy(.session, of: few) }),
    ])
  }
}
