import HoldfastCore
import HoldfastDriver
import HoldfastTestKit
import Testing

/// Tests of a journal that is read while it is written.
@Suite(.timeLimit(.minutes(60)))
struct JournalFollowTests {
  private static let header =
    #"{"journal":1,"machine":"bell","name":"s","part":1,"seed":7,"startedAt":5}"# + "\n"
  private static let cause = #"{"at":0,"in":{"say":{"_0":1}}}"# + "\n"
  private static let effects = #"{"at":0,"out":[{"said":{"_0":1}}]}"# + "\n"

  private let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  private func write(_ text: String) throws { try scratch.write(Array(text.utf8), to: "j") }

  @Test
  func `a step is returned once it is complete, wherever the file ended before`() throws {
    let step = Self.cause + Self.effects
    for length in 0..<step.utf8.count {
      try write(Self.header + step.prefix(length))
      var reader = try JournalReader<Bell>(path: scratch("j"), follows: true)
      #expect(try reader.next() == nil)
      #expect(try reader.next() == nil)
      try write(Self.header + step + step)
      let expected = JournalStep<Bell>(at: .zero, cause: .input(.say(1)), effects: [.said(1)])
      #expect(try reader.next() == expected)
      #expect(reader.line == 2)
      #expect(try reader.next() == expected)
      #expect(reader.line == 4)
      #expect(try reader.next() == nil)
    }
  }

  @Test
  func `a header that is not complete is refused`() throws {
    try write(String(Self.header.dropLast()))
    #expect(throws: JournalError.self) {
      _ = try JournalReader<Bell>(path: scratch("j"), follows: true)
    }
  }
}
