import CHoldfastPostgreSQL
import Glibc
import HoldfastCore
import HoldfastLinuxEvents
import HoldfastPorts

/// A statement with its parameters.
struct Command {
  let sql: String
  let parameters: [Parameter]

  init(_ sql: String, _ parameters: [Parameter] = []) {
    (self.sql, self.parameters) = (sql, parameters)
  }

  static let begin = Command("BEGIN")
  static let commit = Command("COMMIT")
  /// The begin of a transaction whose statements all see one snapshot.
  static let beginReading = Command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  static let rollback = Command("ROLLBACK")
}

/// A connection to one server. Every wait has a deadline, and nothing is ever cancelled: a cancelled
/// commit may succeed without its standby. A connection that does not answer in time is closed.
@safe final class Connection {
  /// The maximum time for the answer to a flush.
  static let patience = Duration.seconds(5)

  private let pointer: OpaquePointer
  private let notices = Notices()
  private var prepared: [String: String] = [:]
  private var names = 0
  /// The statements that the newest flush prepares. If it fails, some of them do not exist.
  private var preparing: [String] = []
  /// The server's name, for messages.
  let host: String
  /// Whether the connection can be used.
  private(set) var isOpen = true
  private var hasBegun = false
  /// The timeline of the server, once it is known.
  var timeline: Int64 = 0

  /// Begins to connect. The caller calls `advance` until it returns something else than `.waiting`.
  init(to host: DatabaseSettings.Host, applicationName: String) throws(DatabaseFailure) {
    var options = host.options
    options["application_name"] = applicationName
    let keywords = Array(options.keys)
    let values = keywords.map { options[$0] }
    self.host = host.name
    let started = unsafe Self.withCStrings(keywords) { keywords in
      unsafe Self.withCStrings(values) { values in
        unsafe PQconnectStartParams(keywords, values, 0)
      }
    }
    guard let started = unsafe started else { throw .lost(detail: "memory is exhausted") }
    unsafe pointer = unsafe started
    unsafe PQsetNoticeReceiver(
      pointer,
      { context, result in
        guard let context = unsafe context, let result = unsafe result else { return }
        let code = unsafe PQresultErrorField(result, 67).map { unsafe String(cString: $0) }
        unsafe Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().note(code)
      }, unsafe Unmanaged.passUnretained(notices).toOpaque())
  }

  deinit { unsafe PQfinish(pointer) }

  private static func withCStrings<Value>(
    _ texts: [String?], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
  ) -> Value {
    var pointers: [UnsafePointer<CChar>?] = unsafe []
    for text in texts {
      let copy = unsafe text.flatMap { unsafe strdup($0) }
      unsafe pointers.append(copy.map { unsafe UnsafePointer($0) })
    }
    defer { unsafe pointers.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
    return unsafe body(pointers + [nil])
  }

  // MARK: - Connecting

  /// The progress of a connection that is being established.
  enum Progress {
    case waiting(descriptor: Int32, events: Int16)
    case connected
    case failed(String)
  }

  /// Continues to connect, when the descriptor is ready.
  func advance() -> Progress {
    if !hasBegun {
      hasBegun = true
      if unsafe PQstatus(pointer) != CONNECTION_BAD {
        return .waiting(descriptor: descriptor, events: Int16(POLLOUT))
      }
    }
    switch unsafe PQconnectPoll(pointer) {
    case PGRES_POLLING_READING: return .waiting(descriptor: descriptor, events: Int16(POLLIN))
    case PGRES_POLLING_WRITING: return .waiting(descriptor: descriptor, events: Int16(POLLOUT))
    case PGRES_POLLING_OK:
      guard unsafe PQsetnonblocking(pointer, 1) == 0 else { return .failed(message) }
      return .connected
    case _: return .failed(message)
    }
  }

  var descriptor: Int32 { unsafe PQsocket(pointer) }

  private var message: String {
    let text = unsafe PQerrorMessage(pointer).map { unsafe String(cString: $0) } ?? ""
    let line = text.split(separator: "\n").first.map(String.init) ?? "the connection ended"
    return "\(host): \(line)"
  }

  private func lost(_ detail: String? = nil) -> DatabaseFailure {
    isOpen = false
    return .lost(detail: detail.map { "\(host): \($0)" } ?? message)
  }

  // MARK: - Flushes

  /// Sends statements in one flush, and returns the rows of each.
  ///
  /// Without `BEGIN` among them, they are one transaction.
  ///
  /// - Throws: `.lost` if the connection ends before the answer; the outcome is then unknown.
  func run(
    _ commands: [Command], within patience: Duration = patience
  ) throws(DatabaseFailure) -> [[Row]] {
    let until = BootClock().now.advanced(by: patience)
    let steps = try send(commands)
    var rows: [[Row]] = []
    var refusal: DatabaseFailure?
    let endsWithCommit = commands.last?.sql == Command.commit.sql
    for (index, isAnswer) in steps.enumerated() {
      if endsWithCommit, index == steps.count - 1 { notices.clear() }
      let (found, failure) = try result(until: until)
      if refusal == nil { refusal = failure }
      if isAnswer { rows.append(found) }
    }
    // Other warnings also have this code. Only one that comes with a commit is about its wait.
    if !endsWithCommit { notices.clear() }
    try finish(until: until)
    if let refusal {
      for sql in preparing { prepared[sql] = nil }
      if isOpen, unsafe PQtransactionStatus(pointer) != PQTRANS_IDLE {
        try rollBack(until: until)
      }
      throw refusal
    }
    if notices.takeWarning() {
      // The wait for the standby was cancelled, so the commit may be lost by a failover.
      throw lost("the server did not wait for its standby")
    }
    return rows
  }

  /// Executes statements without parameters that are separated by semicolons.
  func runScript(_ sql: String, within patience: Duration) throws(DatabaseFailure) {
    let until = BootClock().now.advanced(by: patience)
    if unsafe PQpipelineStatus(pointer) != PQ_PIPELINE_OFF {
      guard unsafe PQexitPipelineMode(pointer) == 1 else { throw lost() }
    }
    guard unsafe PQsendQuery(pointer, sql) == 1 else { throw lost() }
    var refusal: DatabaseFailure?
    while let result = try unsafe next(until: until) {
      defer { unsafe PQclear(result) }
      if refusal == nil { refusal = unsafe failure(of: result) }
    }
    if let refusal { throw refusal }
  }

  /// Returns for each expected result whether it is that of a statement, and not of a preparation.
  private func send(_ commands: [Command]) throws(DatabaseFailure) -> [Bool] {
    guard isOpen else { throw lost("the connection was closed") }
    if unsafe PQpipelineStatus(pointer) == PQ_PIPELINE_OFF {
      guard unsafe PQenterPipelineMode(pointer) == 1 else { throw lost() }
    }
    var steps: [Bool] = []
    preparing = []
    for command in commands {
      let name: String
      if let known = prepared[command.sql] {
        name = known
      } else {
        name = "s\(names)"
        names += 1
        let types = command.parameters.map(\.type)
        guard
          unsafe PQsendPrepare(pointer, name, command.sql, Int32(types.count), types) == 1
        else { throw lost() }
        prepared[command.sql] = name
        preparing.append(command.sql)
        steps.append(false)
      }
      guard send(name, command.parameters) else { throw lost() }
      steps.append(true)
    }
    guard unsafe PQpipelineSync(pointer) == 1 else { throw lost() }
    return steps
  }

  private func send(_ name: String, _ parameters: [Parameter]) -> Bool {
    // The bytes of all parameters lie in one buffer.
    var buffer: [UInt8] = []
    var starts: [Int?] = []
    for parameter in parameters {
      starts.append(parameter.bytes == nil ? nil : buffer.count)
      if let bytes = parameter.bytes { buffer += bytes }
    }
    buffer.append(0)
    let lengths = parameters.map { Int32($0.bytes?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: parameters.count)
    return unsafe buffer.withUnsafeBytes { bytes in
      let base = unsafe bytes.baseAddress!.assumingMemoryBound(to: CChar.self)
      let values = unsafe starts.map { start in unsafe start.map { unsafe base + $0 } }
      return unsafe PQsendQueryPrepared(
        pointer, name, Int32(parameters.count), values, lengths, formats, 1) == 1
    }
  }

  /// Reads the result of one statement, and the end of its results.
  private func result(
    until: Instant
  ) throws(DatabaseFailure) -> (rows: [Row], failure: DatabaseFailure?) {
    var rows: [Row] = []
    var refusal: DatabaseFailure?
    while let result = try unsafe next(until: until) {
      defer { unsafe PQclear(result) }
      if let failure = unsafe failure(of: result) {
        refusal = refusal ?? failure
      } else {
        unsafe rows += Self.rows(of: result)
      }
    }
    return (rows, refusal)
  }

  /// Reads the end of a pipeline, at which a transaction without `BEGIN` is committed.
  private func finish(until: Instant) throws(DatabaseFailure) {
    guard let end = try unsafe next(until: until) else { throw lost() }
    defer { unsafe PQclear(end) }
    guard unsafe PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw lost() }
  }

  private func rollBack(until: Instant) throws(DatabaseFailure) {
    for _ in try send([.rollback]) {
      if let failure = try result(until: until).failure { throw lost(failure.detail) }
    }
    try finish(until: until)
  }

  /// Waits for the next result; `nil` is the end of a statement's results.
  private func next(until: Instant) throws(DatabaseFailure) -> OpaquePointer? {
    while true {
      let left = unsafe PQflush(pointer)
      guard left >= 0 else { throw lost() }
      if unsafe PQisBusy(pointer) == 0 { return unsafe PQgetResult(pointer) }
      let events = Int16(left == 1 ? POLLIN | POLLOUT : POLLIN)
      guard Self.wait(for: events, on: descriptor, until: until) else {
        throw lost("no answer in time")
      }
      guard unsafe PQconsumeInput(pointer) == 1 else { throw lost() }
    }
  }

  /// Waits for a descriptor. Returns false at the deadline.
  private static func wait(for events: Int16, on descriptor: Int32, until: Instant) -> Bool {
    guard descriptor >= 0 else { return true }
    while true {
      let left = BootClock().now.duration(to: until)
      guard left > .zero else { return false }
      var waiting = pollfd(fd: descriptor, events: events, revents: 0)
      if unsafe poll(&waiting, 1, left.milliseconds) > 0 { return true }
    }
  }

  // MARK: - Notifications

  /// Returns the payloads of the notifications that have arrived, without waiting.
  func notes() throws(DatabaseFailure) -> [String] {
    guard isOpen, unsafe PQconsumeInput(pointer) == 1 else { throw lost() }
    var texts: [String] = []
    while let note = unsafe PQnotifies(pointer) {
      if let text = unsafe note.pointee.extra { texts.append(unsafe String(cString: text)) }
      unsafe PQfreemem(note)
    }
    return texts
  }

  private func failure(of result: OpaquePointer) -> DatabaseFailure? {
    switch unsafe PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_PIPELINE_SYNC, PGRES_EMPTY_QUERY: return nil
    case PGRES_PIPELINE_ABORTED:
      return .refused(code: "25P02", detail: "an earlier statement failed")
    case _:
      func field(_ code: Character) -> String? {
        unsafe PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map {
          unsafe String(cString: $0)
        }
      }
      guard let code = field("C") else { return lost() }
      // The primary message contains no values of rows.
      let failure = DatabaseFailure.refused(code: code, detail: field("M") ?? "no reason")
      if failure.endsConnection { isOpen = false }
      return failure
    }
  }

  private static func rows(of result: OpaquePointer) -> [Row] {
    let (count, width) = unsafe (PQntuples(result), PQnfields(result))
    var rows: [Row] = []
    rows.reserveCapacity(Int(count))
    for row in 0..<count {
      var buffer: [UInt8] = []
      var ranges: [Range<Int>?] = []
      for column in 0..<width {
        guard unsafe PQgetisnull(result, row, column) == 0,
          let start = unsafe PQgetvalue(result, row, column)
        else {
          ranges.append(nil)
          continue
        }
        let length = unsafe Int(PQgetlength(result, row, column))
        ranges.append(buffer.count..<buffer.count + length)
        unsafe buffer.append(contentsOf: UnsafeRawBufferPointer(start: start, count: length))
      }
      rows.append(Row(columns: ranges.map { $0.map { buffer[$0] } }))
    }
    return rows
  }
}

/// The warnings that a server sent with a result.
private final class Notices {
  private var hasWarning = false

  /// Notes a condition. Class 01000 is the warning of a commit whose wait was cancelled.
  func note(_ code: String?) { if code == "01000" { hasWarning = true } }

  func clear() { hasWarning = false }

  func takeWarning() -> Bool {
    defer { hasWarning = false }
    return hasWarning
  }
}
