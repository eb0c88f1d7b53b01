import HoldfastAssistants
import HoldfastCore
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerParts

/// The rules of the relay, of the assistants' endpoints and of their sign-in.
///
/// They answer the same questions, but each is a separate machine. The service passes the requests
/// of each machine to the others.
struct RelayRules: ServerRules {
  /// An input of one machine. A drain applies to all of them.
  enum Input: Sendable, Hashable, Codable {
    case relay(RelayServer.Input)
    case assistants(MCPServer.Input)
    case oauth(OAuthServer.Input)
    case drain(within: Duration)
  }

  enum Effect: Sendable, Hashable, Codable {
    case relay(RelayServer.Effect)
    case assistants(MCPServer.Effect)
    case oauth(OAuthServer.Effect)
  }

  private(set) var relay: RelayServer
  private var assistants: MCPServer
  /// The sign-in; `nil` if the backend has no public URL.
  private var oauth: OAuthServer?

  init(relay: RelayServer, assistants: MCPServer, oauth: OAuthServer? = nil) {
    (self.relay, self.assistants, self.oauth) = (relay, assistants, oauth)
  }

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    switch input {
    case .relay(let input):
      relay.handle(input, at: now).map { .relay($0) } + restored(input, at: now)
    case .assistants(let input):
      assistants.handle(checked(input, at: now), at: now).map { .assistants($0) }
    case .oauth(let input): signIn(input, at: now)
    case .drain(let window):
      relay.handle(RelayServer.drain(within: window), at: now).map { .relay($0) }
        + assistants.handle(MCPServer.drain(within: window), at: now).map { .assistants($0) }
        + signIn(OAuthServer.drain(within: window), at: now)
    }
  }

  /// Passes the stored sessions to the machine of the assistants.
  private mutating func restored(_ input: RelayServer.Input, at now: Instant) -> [Effect] {
    guard case .restored(let stored, _) = input else { return [] }
    return assistants.handle(.restored(stored.sessions), at: now).map { .assistants($0) }
  }

  private mutating func signIn(_ input: OAuthServer.Input, at now: Instant) -> [Effect] {
    oauth?.handle(input, at: now).map { .oauth($0) } ?? []
  }

  /// Returns a request of a client whose grant has ended as one with an invalid token.
  private func checked(_ input: MCPServer.Input, at now: Instant) -> MCPServer.Input {
    guard case .request(let id, var call, let fresh) = input,
      case .granted(let grant) = call.fields.permission, !relay.admits(grant, at: now)
    else { return input }
    call.fields.permission = .invalid
    return .request(id, call, fresh: fresh)
  }

  mutating func tick(at now: Instant) -> [Effect] {
    relay.tick(at: now).map { .relay($0) } + assistants.tick(at: now).map { .assistants($0) }
      + (oauth?.tick(at: now).map { .oauth($0) } ?? [])
  }

  var deadline: Instant? {
    [relay.deadline, assistants.deadline, oauth?.deadline].compactMap(\.self).min()
  }

  static func drain(within window: Duration) -> Input { .drain(within: window) }

  var isFinished: Bool { relay.isFinished && assistants.isFinished }

  static var storeName: String { RelayServer.storeName }

  var serviceHealth: ServiceHealth { .overall([relay.serviceHealth, assistants.serviceHealth]) }

  func report(to page: inout MetricsPage) {
    relay.report(to: &page)
    assistants.report(to: &page)
    oauth?.report(to: &page)
  }

  func check(_ check: inout InvariantCheck) {
    relay.check(&check)
    assistants.check(&check)
    oauth?.check(&check)
  }
}
