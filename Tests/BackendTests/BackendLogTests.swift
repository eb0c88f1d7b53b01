import Dispatch
import HoldfastCore
import HoldfastWire
import Testing

@testable import HoldfastBackend

@Suite(.timeLimit(.minutes(10))) struct BackendLogTests {
  @Test func `drops log lines beyond the queue limit and logs their number`() async throws {
    let lines = LineLog()
    let gate = DispatchSemaphore(value: 0)
    let (writings, continuation) = AsyncStream<Void>.makeStream()
    let log = BackendLog(rate: LogRate(limit: .max)) { line in
      if lines.all.isEmpty { gate.wait() }
      lines.append(line)
      continuation.yield()
    }
    let noted = BackendLog.maxWaiting + 100
    for _ in 0..<noted { log.note(LogLine(.request)) }
    gate.signal()
    for await _ in writings.prefix(BackendLog.maxWaiting) {}
    log.note(LogLine(.stopped))
    await log.finish()
    let written = lines.all
    let requests = written.filter { $0.contains(#""event":"request""#) }.count
    #expect((BackendLog.maxWaiting...BackendLog.maxWaiting + 1).contains(requests))
    // If the log took the first line while it dropped others, it reports two counts.
    let counts = written.compactMap { line in
      line.firstMatch(of: /"event":"lines_dropped","count":([0-9]+)}$/).flatMap { Int($0.1) }
    }
    #expect((1...2).contains(counts.count))
    #expect(counts.reduce(0, +) == noted - requests)
    #expect(written.last?.hasSuffix(#""event":"stopped"}"#) == true)
  }

  @Test func `logs the number of omitted lines when it finishes`() async throws {
    let lines = LineLog()
    let log = BackendLog(rate: LogRate(limit: 0)) { lines.append($0) }
    log.note(LogLine(.refused))
    await log.finish()
    let left = lines.all.map { $0.split(separator: #""event":"#).last }
    #expect(left.last == #""lines_left_out","kind":"refused","count":1}"#)
  }

  @Test func `writes JSON members in a fixed order and escapes their values`() {
    var line = LogLine(.closed)
    line.connection = 7
    line.names = [("user", "a\"b"), ("shop", BackendRig.shop.text)]
    line.code = 1001
    line.detail = "x\n"
    line.elapsed = .milliseconds(12)
    #expect(
      line.text(at: .init(nanoseconds: 0), as: .json)
        == #"{"at":"1970-01-01T00:00:00Z","event":"closed","connection":7,"user":"a\"b","#
        + #""shop":"bakery","code":1001,"detail":"x\n","ms":12}"#)
  }
  @Test func `escapes control characters in text output`() {
    var line = LogLine(.closed)
    line.connection = 7
    line.names = [("user", "ann"), ("shop", nil)]
    line.detail = "the peer said \u{1B}[2J"
    #expect(
      line.text(at: .init(nanoseconds: 0), as: .text)
        == #"1970-01-01T00:00:00Z closed connection=7 user=ann detail="the peer said \u001b[2J""#)
    line.detail = "\u{9B}2J\u{7F}\u{A0}"
    #expect(
      line.text(at: .init(nanoseconds: 0), as: .text)
        == #"1970-01-01T00:00:00Z closed connection=7 user=ann detail="\u009b2J\u007f"#
        + "\u{A0}\"")
    #expect(
      line.text(at: .init(nanoseconds: 0), as: .json).hasSuffix(
        #""detail":"\u009b2J\u007f"# + "\u{A0}\"}"))
    var failure = LogLine(.storeFailure)
    failure.detail = ""
    #expect(
      failure.text(at: .init(nanoseconds: 0), as: .text)
        == #"1970-01-01T00:00:00Z error: store failure detail="""#)
  }

  @Test(arguments: [
    (LogLevel.error, ["store_failure"]), (.warning, ["store_failure", "refused"]),
    (.info, ["store_failure", "refused", "opened"]),
    (.debug, ["store_failure", "refused", "opened", "request"]),
  ])
  func `a log level excludes less important events`(level: LogLevel, events: [String]) async {
    let lines = LineLog()
    let log = BackendLog(level: level) { lines.append($0) }
    for event in [LogLine.Event.storeFailure, .refused, .opened, .request] { log.note(event) }
    await log.finish()
    #expect(
      lines.all.map { $0.split(separator: #""event":""#).last.map(String.init) }
        == events.map { $0 + #""}"# })
  }
}
