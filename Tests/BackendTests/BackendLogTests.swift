import Dispatch
import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastBackend

@Suite(.timeLimit(.minutes(60))) struct BackendLogTests {
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

  @Test func `shows the facts of a request in a fixed order`() {
    var line = LogLine(.request)
    line.connection = 7
    line.address = NetworkAddress("203.0.113.9")
    (line.method, line.route, line.names) = ("POST", "send", [("user", "ann"), ("shop", nil)])
    (line.status, line.bytes, line.elapsed) = (201, 321, .milliseconds(3))
    line.traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    line.sample = LogSample(0.01)
    let (start, rest) = (
      #"{"at":"1970-01-01T00:00:00Z","event":"request","connection":7,"#,
      #""method":"POST","route":"send","user":"ann","status":201,"bytes":321,"ms":3,"#
        + #""trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","sample":0.01}"#
    )
    for (addresses, member) in [
      (LogAddresses.full, #""address":"203.0.113.9","#),
      (.prefix, #""address":"203.0.113.0/24","#), (.none, ""),
    ] {
      #expect(
        line.text(at: .init(nanoseconds: 0), as: .json, addresses: addresses)
          == start + member + rest)
    }
    #expect(
      line.text(at: .init(nanoseconds: 0), as: .text)
        == "1970-01-01T00:00:00Z request connection=7 address=203.0.113.9 method=POST route=send "
        + "user=ann status=201 bytes=321 ms=3 trace_id=4bf92f3577b34da6a3ce929d0e0e4736 "
        + "sample=0.01")
  }

  private static func request(_ status: Int) -> LogLine {
    var line = LogLine(.request)
    line.status = status
    return line
  }

  @Test(arguments: [
    (LogLevel.info, nil, 0.0, [404, 500]), (.debug, nil, 0, [200, 304, 404, 500]),
    (.warning, nil, 0, []), (.info, 0.5, 0.4, [200, 304, 404, 500]), (.info, 0.5, 0.5, [404, 500]),
    (.debug, 0.5, 0.5, [404, 500]), (.warning, 1, 0, []), (.info, 1, 0.999, [200, 304, 404, 500]),
    (.info, 0, 0, [404, 500]),
  ])
  func `a sample leaves out successful requests by chance, and none that failed`(
    level: LogLevel, rate: Double?, chance: Double, logged: [Int]
  ) async {
    let lines = LineLog()
    let view = LogView(sample: rate.flatMap { LogSample($0) }, chance: { chance })
    let log = BackendLog(level: level, view: view) { lines.append($0) }
    for status in [200, 304, 404, 500] { log.note(Self.request(status)) }
    await log.finish()
    let statuses = lines.all.compactMap { line in
      line.firstMatch(of: /"status":([0-9]+)/).flatMap { Int($0.1) }
    }
    #expect(statuses == logged)
    // The share is in the lines that chance decides about.
    #expect(
      lines.all.filter { $0.contains(#""sample":"#) }.count
        == (rate == nil ? 0 : logged.filter { $0 < 400 }.count))
  }

  @Test(arguments: [(-0.1, false), (0, true), (0.01, true), (1, true), (1.1, false), (.nan, false)])
  func `a share is from 0 to 1`(rate: Double, isValid: Bool) {
    #expect((LogSample(rate) != nil) == isValid)
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
