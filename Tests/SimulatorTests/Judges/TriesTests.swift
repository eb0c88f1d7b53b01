import LinkCore
import LinkWire
import MessageStream
import Testing

@testable import LinkSimulator

struct WindowsTests {
  private var script = Script(AttemptWindows<StreamFeature>())

  private mutating func open(_ number: UInt64, at second: Double) {
    script.tick(at: second, [.open(AttemptID(number))])
  }

  @Test(arguments: [(60.0, false), (59.999, true), (60.001, false)])
  mutating func `ten tries within a minute, and the next after it`(second: Double, isFound: Bool) {
    for number in 0..<10 { open(UInt64(number), at: Double(number)) }
    open(11, at: second)
    let detail = "more than 10 tries within 60.0 seconds"
    let finding = Finding(.storm, at: .second(second), detail)
    #expect(script.findings == (isFound ? [finding] : []))
  }

  @Test mutating func `a new process counts anew`() {
    for number in 0..<10 { open(UInt64(number), at: 0) }
    script.see(.launched(.phone, run: 2))
    open(1, at: 1)
    #expect(script.findings == [])
  }
}

struct TriesTests {
  private var script = Script(Tries<StreamFeature>())
  private var last: UInt64 = 0
  private let beyond = "try 8 of a series that ends after 7"

  /// Tries that fail, the given number of seconds apart.
  private mutating func fail(_ count: Int, from second: Double, apart: Double = 5) {
    for number in 0..<count {
      last += 1
      let at = second + Double(number) * apart
      script.tick(at: at, [.open(AttemptID(last))])
      script.tell(.lost(AttemptID(last), .reset), at: at + 0.5)
    }
  }

  @Test mutating func `a whole series and a probe of the standby are well`() {
    fail(7, from: 0)
    fail(3, from: 60, apart: 27)
    #expect(script.findings == [])
  }

  @Test mutating func `one more without a rest is found`() {
    fail(8, from: 0)
    #expect(script.findings == [Finding(.storm, at: .second(35), beyond)])
  }

  @Test(arguments: [(26.9, true), (27.0, false), (27.1, false)])
  mutating func `out of standby it tries as often as a poll comes`(rest: Double, isFound: Bool) {
    fail(7, from: 0)
    fail(1, from: 30 + rest)
    let finding = Finding(.storm, at: .second(30 + rest), beyond)
    #expect(script.findings == (isFound ? [finding] : []))
  }

  @Test(arguments: [
    StreamModel.Input.refresh, .reachability(.unreachable), .woke(at: Message.start),
    .lifecycle(.foreground, at: Message.start), .credentials(.available(expiresIn: nil)),
  ])
  mutating func `something new starts another series`(input: StreamModel.Input) {
    fail(5, from: 0)
    script.tell(input, at: 26)
    fail(5, from: 30)
    #expect(script.findings == [])
  }

  /// Tries that the server takes, and that end so many seconds later.
  private mutating func flap(_ count: Int, standing: Double, hears: Bool = false) {
    for number in 0..<count {
      last += 1
      let at = Double(number) * (standing + 1)
      script.tick(at: at, [.open(AttemptID(last))])
      script.tell(.opened(AttemptID(last), head: nil), at: at)
      if hears { script.tell(.frame(AttemptID(last), .message(.number(1))), at: at) }
      script.tell(.lost(AttemptID(last), .reset), at: at + standing)
    }
  }

  @Test(arguments: [(9.9, 1), (10, 0), (10.1, 0)])
  mutating func `a connection counts once it stood for 10 s`(standing: Double, count: Int) {
    flap(8, standing: standing)
    #expect(script.findings.map(\.detail) == Array(repeating: beyond, count: count))
  }

  @Test mutating func `a connection counts once it brought a message`() {
    flap(8, standing: 1, hears: true)
    #expect(script.findings == [])
  }

  @Test mutating func `what is said of an older connection counts for nothing`() {
    for number in 1...8 {
      script.tick(at: Double(number), [.open(AttemptID(UInt64(number)))])
      script.tell(.frame(AttemptID(0), .message(.number(1))), isLate: true, at: Double(number))
    }
    #expect(script.findings == [Finding(.storm, at: .second(8), beyond)])
  }

  @Test mutating func `a second try in the instant of a close by the server is found`() {
    let closed = LinkFailure.closed(code: 1012, reason: "restart")
    script.tell(.lost(AttemptID(1), closed), at: 1, [.open(AttemptID(2))])
    script.tell(.lost(AttemptID(2), .reset), at: 2, [.open(AttemptID(3))])
    #expect(script.findings == [])
    script.tell(.lost(AttemptID(3), closed), at: 3, [.open(AttemptID(4))])
    let detail = "tried again at once when the server closed, not spread"
    #expect(script.findings == [Finding(.storm, at: .second(3), detail)])
  }

  @Test mutating func `a try after a spread wait is well`() {
    let closed = LinkFailure.closed(code: 1012, reason: "restart")
    for number in 1...3 {
      let at = Double(number) * 20
      script.tell(.opened(AttemptID(UInt64(number)), head: nil), at: at)
      script.tell(.lost(AttemptID(UInt64(number)), closed), at: at + 11)
      script.tick(at: at + 11, [.open(AttemptID(UInt64(number + 1)))])
    }
    #expect(script.findings == [])
  }
}
