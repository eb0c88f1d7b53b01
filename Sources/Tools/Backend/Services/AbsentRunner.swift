import HoldfastCore
import HoldfastProtocols
import HoldfastServerCore
import HoldfastServerSockets

/// The place of a service that another node runs. Its routes are answered with 503.
final class AbsentRunner<S: Service>: RunningService {
  private let hub: SocketHub
  private let log: BackendLog

  init(_ service: S.Type, hub: SocketHub, log: BackendLog) {
    (self.hub, self.log) = (hub, log)
  }

  var deadline: Instant? { nil }
  var isFinished: Bool { true }

  func health(_ check: StoreChecks.Outcome) -> ServiceHealth { .ok }

  func begin() {}
  func end() {}
  func leave() {}
  func drain(within window: Duration) {}
  func tick() {}
  func report(to page: inout MetricsPage) {}

  func take(
    _ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]?
  ) -> Bool {
    guard let route = S.Route(path: path) else { return false }
    // Balancers find the other node within seconds.
    let refusal = HTTPRefusal(
      503, "another node runs this service", retryAfter: .seconds(2))
    var line = LogLine(.request)
    line.connection = hub.connection(of: request)?.number
    (line.route, line.status) = (route.name, refusal.status)
    log.note(line)
    hub.respond(
      to: request, status: refusal.status, headers: refusal.headers, body: refusal.bytes)
    return true
  }

  func announce(_ request: RequestID, _ head: HTTPRequestHead, _ path: String) -> Bool { false }

  func cut(
    _ request: RequestID, _ head: HTTPRequestHead, _ path: String, body: [UInt8]
  ) -> Bool { S.Route(path: path) != nil }

  func abandon(_ request: RequestID) -> Bool { false }
  func owns(_ socket: ConnectionID) -> Bool { false }
  func handle(_ event: SocketEvent, on socket: ConnectionID) {}
}
