import LinkCore
import LinkJSON
import LinkRuntime
import LinkServerCore
import LinkWire
import Synchronization

/// One line of the log: an event and its client. Never a token, a query or a message's text.
struct LogLine: Sendable {
  /// What a service knows of a client, such as its user; written in this order.
  typealias Names = [(key: String, text: String?)]

  enum Event: String, Sendable, CaseIterable {
    case listening, request, abandoned, opened, refused, closing, closed, removed, draining, stopped
    case starved, crowded, storeFailure = "store_failure", reloadFailed = "reload_failed"
    case asked, pushed, exposed
    case linesDropped = "lines_dropped", linesLeftOut = "lines_left_out"
  }

  var event: Event
  var connection: UInt64?
  /// The route's name.
  var route: String?
  /// What the service knows of the client.
  var names: Names = []
  /// What became of an assistant's call or a push.
  var outcome: String?
  var status: Int?
  var code: UInt16?
  var detail: String?
  var took: Duration?
  /// Of which event lines were left out.
  var kind: Event?
  var count: UInt64?

  init(_ event: Event) {
    self.event = event
  }

  init(_ left: LogRate.LeftOut) {
    event = .linesLeftOut
    (kind, count) = (left.event, left.count)
  }

  /// The line as a JSON object whose members keep one order.
  func text(at time: Timestamp) -> String {
    var writer = JSONWriter(capacity: 200)
    writer.object {
      $0.entry("at", RFC3339.format(time))
      $0.entry("event", event.rawValue)
      if let connection { $0.entry("connection", connection) }
      if let route { $0.entry("route", route) }
      for case (let name, let text?) in names { $0.entry(name, text) }
      if let outcome { $0.entry("outcome", outcome) }
      if let status { $0.entry("status", status) }
      if let code { $0.entry("code", code) }
      if let detail { $0.entry("detail", detail) }
      if let took { $0.entry("ms", took.nanoseconds / 1_000_000) }
      if let kind { $0.entry("kind", kind.rawValue) }
      if let count { $0.entry("count", count) }
    }
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

/// Hands log lines to a sink from one task, in order, so that a slow sink blocks nobody.
///
/// At most 100 lines of an event a second are taken (10 store failures a minute), and at most 1,024
/// wait; what is left out or dropped is counted, and a later line says how many.
final class BackendLog: Sendable {
  /// Lines that may wait for the sink.
  static let maxWaiting = 1_024

  private let lines: AsyncStream<String>.Continuation?
  private let writing: Task<Void, Never>?
  private let dropped = Atomic<UInt64>(0)
  private let rate: Mutex<LogRate>

  init(rate: LogRate = LogRate(), sink: (@Sendable (String) -> Void)?) {
    self.rate = Mutex(rate)
    guard let sink else {
      (lines, writing) = (nil, nil)
      return
    }
    let (stream, continuation) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingOldest(Self.maxWaiting))
    lines = continuation
    writing = Task.detached {
      for await line in stream { sink(line) }
    }
  }

  /// Logs an event about no client.
  func note(_ event: LogLine.Event, _ detail: String? = nil, count: UInt64? = nil) {
    var line = LogLine(event)
    (line.detail, line.count) = (detail, count)
    note(line)
  }

  func note(_ line: LogLine) {
    let now = BootClock().now
    let (leftOut, isTaken) = rate.withLock {
      ($0.ended(by: now), $0.takes(line.event, at: now))
    }
    for left in leftOut { write(LogLine(left)) }
    if isTaken { write(line) }
  }

  private func write(_ line: LogLine) {
    guard let lines else { return }
    let now = BootClock().wall
    let lost = dropped.exchange(0, ordering: .relaxed)
    if lost > 0 {
      var notice = LogLine(.linesDropped)
      notice.count = lost
      guard yield(notice.text(at: now), to: lines) else {
        dropped.add(lost + 1, ordering: .relaxed)
        return
      }
    }
    if !yield(line.text(at: now), to: lines) { dropped.add(1, ordering: .relaxed) }
  }

  /// Waits until every line is with the sink; later ones are not taken.
  func finish() async {
    let end = BootClock().now.advanced(by: .seconds(60))
    for left in rate.withLock({ $0.ended(by: end) }) { write(LogLine(left)) }
    lines?.finish()
    await writing?.value
  }

  private func yield(_ line: String, to lines: AsyncStream<String>.Continuation) -> Bool {
    switch lines.yield(line) {
    case .enqueued, .terminated: true
    case .dropped: false
    @unknown default: true
    }
  }
}
