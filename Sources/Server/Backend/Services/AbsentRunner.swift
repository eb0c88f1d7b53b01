import HoldfastCore
import HoldfastMessageServer
import HoldfastOperators
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// The place of a service that another node runs. Its requests are passed on to that node, or are
/// answered with 503 if the node is not known.
final class AbsentRunner<S: Service>: RunningService {
  private let hub: SocketHub
  private let log: BackendLog
  private let passage: NodePassage?
  private var passed: [RequestID: Passed] = [:]
  /// The times at which connections end during a drain, and the end of the drain.
  private var endings: (next: [(at: Instant, RequestID)], last: Instant)?

  private struct Passed {
    var connection: ConnectionID
    var isUpgrade: Bool
    var line: LogLine
    var since: Instant
  }

  init(_ service: S.Type, hub: SocketHub, log: BackendLog, passage: NodePassage?) {
    (self.hub, self.log, self.passage) = (hub, log, passage)
  }

  var deadline: Instant? {
    endings.flatMap { $0.next.first?.at ?? ($0.last > hub.now ? $0.last : nil) }
  }
  var isFinished: Bool { passed.isEmpty || endings.map { $0.last <= hub.now } ?? false }

  func health(_ check: StoreChecks.Outcome) -> ServiceHealth { .ok }

  func begin() {}
  func end() {}

  func leave() {
    for request in passed.keys.sorted() {
      guard let each = passed.removeValue(forKey: request) else { continue }
      note(each, hub.giveUp(each.connection) ? .passed : .unreachable)
    }
  }

  /// Ends the passed sockets one after the other, so that clients do not return together. Other
  /// requests have until the end of the window.
  func drain(within window: Duration) {
    let requests = passed.filter(\.value.isUpgrade).keys.sorted()
    let step = window / max(requests.count, 1)
    endings = (
      requests.enumerated().map { (hub.now.advanced(by: step * ($0.offset + 1)), $0.element) },
      hub.now.advanced(by: window)
    )
  }

  func tick() {
    while let next = endings?.next.first, next.at <= hub.now {
      endings?.next.removeFirst()
      if let passed = passed[next.1] { hub.drop(passed.connection) }
    }
  }

  func report(to page: inout MetricsPage) {}

  func take(
    _ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]?
  ) -> Bool {
    guard let route = S.Route(path: path) else { return false }
    guard let connection = hub.connection(of: request) else { return true }
    var line = log.line(of: head, on: connection, hub)
    line.route = route.name
    // Nothing was done, so clients may repeat the request.
    let refusal = HTTPRefusal(
      503, "another node runs this service", retryAfter: .seconds(2))
    // What another node has passed on is not passed on again.
    guard let passage, endings == nil, !hub.isFromNode(connection), let node = passage.holder()
    else {
      (line.status, line.bytes) = (refusal.status, refusal.bytes.count)
      log.note(line)
      hub.respond(
        to: request, status: refusal.status, headers: refusal.headers, body: refusal.bytes)
      return true
    }
    passed[request] = Passed(
      connection: connection, isUpgrade: body == nil, line: line, since: hub.now)
    let client = hub.client(of: connection, head, through: passage.proxies)
    let failure = HTTPRefusal(502, "the node that runs this service ended before it answered")
    hub.pass(
      request, to: node, passage.message(head, body, of: client),
      within: body == nil ? NodePassage.upgradeLimit : NodePassage.answerLimit,
      orAnswer: bytes(of: refusal, to: head), afterSending: bytes(of: failure, to: head))
    return true
  }

  private func bytes(of refusal: HTTPRefusal, to head: HTTPRequestHead) -> [UInt8] {
    HTTPResponseWriter.bytes(
      status: refusal.status, headers: refusal.headers, body: refusal.bytes, keepAlive: false,
      omitsBody: head.method == "HEAD")
  }

  func announce(_ request: RequestID, _ head: HTTPRequestHead, _ path: String) -> Bool { false }

  func cut(
    _ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]
  ) -> Bool { S.Route(path: path) != nil }

  func abandon(_ request: RequestID) -> Bool { false }

  func passed(_ request: RequestID, wasAnswered: Bool) -> Bool {
    guard let passed = passed.removeValue(forKey: request) else { return false }
    note(passed, wasAnswered ? .passed : .unreachable)
    return true
  }

  private func note(_ passed: Passed, _ event: LogLine.Event) {
    var line = passed.line
    line.event = event
    line.elapsed = passed.since.duration(to: hub.now)
    log.note(line)
  }

  func decided(_ ticket: HookTicket, _ verdict: HookVerdict) -> Bool { false }
  /// Returns no connections: the node that runs the service lists them.
  func connections() -> [AdminConnection] { [] }

  func disconnect(_ connection: ConnectionID, _ closure: Closure) -> Bool { false }

  func owns(_ socket: ConnectionID) -> Bool { false }
  func handle(_ event: SocketEvent, on socket: ConnectionID) {}
}
