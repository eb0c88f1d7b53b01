import HoldfastCore
import HoldfastServerCore

/// The rules of the relay and of the assistants' endpoints.
///
/// Both answer the same questions, but each is a separate machine. The service passes the requests
/// of each machine to the other.
struct RelayRules: ServerRules {
  /// An input of either machine. A drain applies to both machines.
  enum Input: Sendable, Hashable, Codable {
    case relay(RelayServer.Input)
    case assistants(MCPServer.Input)
    case drain(within: Duration)
  }

  enum Effect: Sendable, Hashable, Codable {
    case relay(RelayServer.Effect)
    case assistants(MCPServer.Effect)
  }

  private(set) var relay: RelayServer
  private var assistants: MCPServer

  init(relay: RelayServer, assistants: MCPServer) {
    (self.relay, self.assistants) = (relay, assistants)
  }

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    switch input {
    case .relay(let input): relay.handle(input, at: now).map { .relay($0) }
    case .assistants(let input): assistants.handle(input, at: now).map { .assistants($0) }
    case .drain(let window):
      relay.handle(RelayServer.drain(within: window), at: now).map { .relay($0) }
        + assistants.handle(MCPServer.drain(within: window), at: now).map { .assistants($0) }
    }
  }

  mutating func tick(at now: Instant) -> [Effect] {
    relay.tick(at: now).map { .relay($0) } + assistants.tick(at: now).map { .assistants($0) }
  }

  var deadline: Instant? {
    [relay.deadline, assistants.deadline].compactMap(\.self).min()
  }

  static func drain(within window: Duration) -> Input { .drain(within: window) }

  var isFinished: Bool { relay.isFinished && assistants.isFinished }

  static var storeName: String { RelayServer.storeName }

  var serviceHealth: ServiceHealth { .overall([relay.serviceHealth, assistants.serviceHealth]) }

  func report(to page: inout MetricsPage) {
    relay.report(to: &page)
    assistants.report(to: &page)
  }

  func check(_ check: inout InvariantCheck) {
    relay.check(&check)
    assistants.check(&check)
  }
}
