import HoldfastCore
import HoldfastJSON
import HoldfastPorts
import Synchronization

/// A line of the log: an event and facts about its client. It never contains a token, a query or
/// the text of a message.
struct LogLine: Sendable {
  /// The facts about a client, such as its user, in the order in which they are logged.
  typealias Names = [(key: String, text: String?)]

  enum Event: String, Sendable, CaseIterable {
    case listening, request, abandoned, opened, refused, closing, closed, removed, draining, stopped
    case starved, crowded, storeFailure = "store_failure", reloadFailed = "reload_failed"
    case asked, pushed, exposed
    case leaseLost = "lease_lost", leaseTaken = "lease_taken"
    case busLost = "bus_lost", busConnected = "bus_connected"
    case roleLost = "role_lost", roleTaken = "role_taken"
    case passed, unreachable
    case fewDescriptors = "few_descriptors", ceilingsLowered = "ceilings_lowered"
    case certificateLoaded = "certificate_loaded", inherited
    case hookFailed = "hook_failed"
    case admin
    case messagesRemoved = "messages_removed", retentionFailed = "retention_failed"
    case keepsRoom = "keeps_room"
    case tokenKeys = "token_keys", tokenKeysFailed = "token_keys_failed"
    case linesDropped = "lines_dropped", linesLeftOut = "lines_left_out"
    case reload, restartNeeded = "restart_needed"

    /// The importance of the event.
    var level: LogLevel {
      switch self {
      case .storeFailure, .reloadFailed: .error
      case .abandoned, .refused, .starved, .crowded, .exposed, .linesDropped, .linesLeftOut,
        .leaseLost, .unreachable, .busLost, .fewDescriptors, .hookFailed, .restartNeeded,
        .tokenKeysFailed, .retentionFailed, .keepsRoom:
        .warning
      case .listening, .opened, .closing, .closed, .removed, .draining, .stopped, .asked, .pushed,
        .leaseTaken, .roleLost, .roleTaken, .busConnected, .certificateLoaded, .inherited, .reload,
        .admin, .tokenKeys, .ceilingsLowered, .messagesRemoved:
        .info
      case .request, .passed: .debug
      }
    }
  }

  var event: Event
  var connection: UInt64?
  /// The address of the client. The log shows it in the form that the operator has chosen.
  var address: NetworkAddress?
  var method: String?
  var route: String?
  var names: Names = []
  /// The outcome of an assistant's call, of a push or of a question to the operator's backend.
  var outcome: String?
  var status: Int?
  /// The number of bytes of the response's body.
  var bytes: Int?
  var code: UInt16?
  var detail: String?
  var elapsed: Duration?
  /// The ID of the trace to which the request belongs (W3C Trace Context).
  var traceID: String?
  /// The share of the successful requests that the log has, if the line was chosen by chance.
  var sample: LogSample?
  /// The event whose lines were omitted.
  var kind: Event?
  var count: UInt64?

  init(_ event: Event) {
    self.event = event
  }

  init(_ left: LogRate.LeftOut) {
    event = .linesLeftOut
    (kind, count) = (left.event, left.count)
  }

  /// The importance of the line. A request that failed is more important than others.
  var level: LogLevel { isFailedRequest ? .info : event.level }

  /// Whether the line is that of a request with a response of status 400 or above.
  var isFailedRequest: Bool { event == .request && (status ?? 0) >= 400 }

  /// Whether the line is that of somebody who is not an operator, and asked as one.
  fileprivate var isStranger: Bool { event == .admin && (status == 401 || status == 403) }

  /// The value of a member that follows the time and the event.
  private enum Value {
    case number(Int64)
    case decimal(Double)
    case text(String)
  }

  /// Returns the members that have a value, in a fixed order.
  private func members(_ addresses: LogAddresses) -> [(name: String, value: Value)] {
    let named = names.map { ($0.key, $0.text.map { Value.text($0) }) }
    let all: [(String, Value?)] =
      [
        ("connection", connection.map { .number(Int64(clamping: $0)) }),
        ("address", address.flatMap { addresses.text(of: $0) }.map { .text($0) }),
        ("method", method.map { .text($0) }),
        ("route", route.map { .text($0) }),
      ] + named + [
        ("outcome", outcome.map { .text($0) }),
        ("status", status.map { .number(Int64($0)) }),
        ("bytes", bytes.map { .number(Int64($0)) }), ("code", code.map { .number(Int64($0)) }),
        ("detail", detail.map { .text($0) }),
        ("ms", elapsed.map { .number($0.nanoseconds / 1_000_000) }),
        ("trace_id", traceID.map { .text($0) }), ("sample", sample.map { .decimal($0.rate) }),
        ("kind", kind.map { .text($0.rawValue) }),
        ("count", count.map { .number(Int64(clamping: $0)) }),
      ]
    return all.compactMap { name, value in value.map { (name, $0) } }
  }

  /// Returns the line in the given format.
  func text(
    at time: Timestamp, as format: LogFormat, addresses: LogAddresses = .full
  ) -> String {
    switch format {
    case .json: json(at: time, members(addresses))
    case .text: plain(at: time, members(addresses))
    }
  }

  private func json(at time: Timestamp, _ members: [(name: String, value: Value)]) -> String {
    var writer = JSONWriter(capacity: 200)
    writer.object {
      $0.entry("at", RFC3339.format(time))
      $0.entry("event", event.rawValue)
      for (name, value) in members {
        switch value {
        case .number(let number): $0.entry(name, number)
        case .decimal(let number):
          $0.key(name)
          $0.double(number)
        case .text(let text): $0.entry(name, text)
        }
      }
    }
    return String(decoding: writer.terminalBytes, as: UTF8.self)
  }

  /// Returns the line as text: the time, the level if it is error or warning, the event, and the
  /// members with their names.
  private func plain(at time: Timestamp, _ members: [(name: String, value: Value)]) -> String {
    var parts = [RFC3339.format(Timestamp(nanoseconds: time.nanoseconds / 1_000_000 * 1_000_000))]
    switch event.level {
    case .error, .warning: parts.append(event.level.rawValue + ":")
    case .info, .debug: break
    }
    parts.append(event.rawValue.replacing("_", with: " "))
    for (name, value) in members {
      switch value {
      case .number(let number): parts.append("\(name)=\(number)")
      case .decimal(let number): parts.append("\(name)=\(number)")
      case .text(let text): parts.append("\(name)=\(Self.quoted(text))")
      }
    }
    return parts.joined(separator: " ")
  }

  /// Returns a text as one word.
  ///
  /// The text becomes a JSON string if it is empty, or contains a quotation mark or any character
  /// other than visible ASCII.
  private static func quoted(_ text: String) -> String {
    let isPlain =
      !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value < 0x7F }
    guard !isPlain || text.contains("\"") else { return text }
    var writer = JSONWriter(capacity: text.utf8.count + 2)
    writer.string(text)
    return String(decoding: writer.terminalBytes, as: UTF8.self)
  }
}

/// The format of the log's lines.
public enum LogFormat: String, Sendable, CaseIterable {
  /// One JSON object on each line.
  case json
  /// Text for people: the time, the event, and members in the form NAME=VALUE.
  case text
}

/// The importance of an event in the log. Each level also includes the levels before it.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// A problem that the operator must fix, such as a full disk or an invalid file.
  case error
  /// Refused or dropped clients, and omitted log lines.
  case warning
  /// Connections, questions, pushes, and requests that failed.
  case info
  /// Every request.
  case debug

  public static func < (left: LogLevel, right: LogLevel) -> Bool {
    guard let left = allCases.firstIndex(of: left), let right = allCases.firstIndex(of: right)
    else { return false }
    return left < right
  }
}

/// A log that passes its lines to a sink in order, from one task, so that a slow sink blocks
/// nothing else.
///
/// For each event, the log accepts at most 100 lines a second; for failures of stores and of the
/// operator's backend, at most 10 a minute. Requests that failed count as an event of their own, and
/// acts of operators have no limit. At most 1,024 lines wait for the sink. Omitted and dropped lines
/// are counted, and a later line reports their number.
final class BackendLog: Sendable {
  /// The maximum number of lines that wait for the sink.
  static let maxWaiting = 1_024

  private let lines: AsyncStream<String>.Continuation?
  private let writing: Task<Void, Never>?
  private let dropped = Atomic<UInt64>(0)
  private let rate: Mutex<LogRate>
  private let form: Mutex<(format: LogFormat, level: LogLevel)>
  let view: LogView

  init(
    rate: LogRate = LogRate(), format: LogFormat = .json, level: LogLevel = .debug,
    view: LogView = LogView(), sink: (@Sendable (String) -> Void)?
  ) {
    self.rate = Mutex(rate)
    form = Mutex((format, level))
    self.view = view
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

  private var format: LogFormat { form.withLock { $0.format } }
  private var level: LogLevel { form.withLock { $0.level } }

  /// Changes the format and the level of later lines.
  func change(to format: LogFormat, _ level: LogLevel) {
    form.withLock { $0 = (format, level) }
  }

  /// Logs an event that does not concern a client.
  func note(_ event: LogLine.Event, _ detail: String? = nil, count: UInt64? = nil) {
    var line = LogLine(event)
    (line.detail, line.count) = (detail, count)
    note(line)
  }

  func note(_ line: LogLine) {
    guard let line = chosen(line) else { return }
    let now = BootClock().now
    let (leftOut, isTaken) = rate.withLock {
      (
        $0.ended(by: now),
        $0.takes(line.event, isFailure: line.isFailedRequest || line.isStranger, at: now)
      )
    }
    for left in leftOut { write(LogLine(left)) }
    if isTaken { write(line) }
  }

  /// Returns the line to log; `nil` if the level or the sample leaves it out.
  ///
  /// With a sample, the chosen requests are as important as those that failed.
  private func chosen(_ line: LogLine) -> LogLine? {
    guard line.event == .request, !line.isFailedRequest, let sample = view.sample else {
      return line.level <= level ? line : nil
    }
    guard level >= .info, sample.takes(view.chance()) else { return nil }
    var line = line
    line.sample = sample
    return line
  }

  private func write(_ line: LogLine) {
    guard let lines else { return }
    let now = BootClock().wall
    let lost = dropped.exchange(0, ordering: .relaxed)
    if lost > 0 {
      var notice = LogLine(.linesDropped)
      notice.count = lost
      guard yield(notice.text(at: now, as: format), to: lines) else {
        dropped.add(lost + 1, ordering: .relaxed)
        return
      }
    }
    let text = line.text(at: now, as: format, addresses: view.addresses)
    if !yield(text, to: lines) { dropped.add(1, ordering: .relaxed) }
  }

  /// Waits until the sink has received every line. Later lines are ignored.
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
