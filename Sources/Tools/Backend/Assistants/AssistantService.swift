import LinkCore
import LinkProtocols
import LinkRuntime
import LinkServerCore
import LinkStorage
import ServerSockets

/// Assistants: the Model Context Protocol and the plain endpoints; each call is asked of the relay.
struct AssistantService: Service {
  typealias Desk = ServiceDesk<AssistantService>

  var rules: MCPServer
  let proxies: TrustedProxies

  /// None: its connections are requests.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int { 0 }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> AssistantService {
    let policy = setup.configuration.assistantsHere
    return AssistantService(
      rules: MCPServer(policy: policy, at: BootClock().now), proxies: setup.configuration.proxies)
  }

  mutating func read(_ event: ServiceEvent<MCPRoute>, _ desk: inout Desk) -> MCPServer.Input? {
    switch event {
    case .request(let id, let route, let head, let body):
      let address = desk.client(of: desk.hub.connection(of: id), head, through: proxies)
      let call = MCPCall(head, route, body: body, address: address)
      return .request(id, call, fresh: MCPSessionID(random: .random(16)))
    case .abandoned(let id): return .abandoned(id)
    case .upgrade, .heard, .text, .binary, .overflow, .drained, .closed, .announced, .cut:
      return nil
    }
  }

  mutating func perform(_ effect: MCPServer.Effect, _ desk: inout Desk) {
    switch effect {
    case .answer(let id, let reply): desk.respond(id, reply.status, reply.headers, reply.body)
    case .watch(let id): desk.watch(id)
    case .begin(let id, let session, let origin):
      desk.begin(
        id,
        MCPReply.eventHeaders + MCPReply.headers(of: session) + MCPReply.headers(forPageOf: origin))
    case .write(let id, let bytes): desk.write(id, bytes)
    case .end(let id): desk.end(id)
    case .ask(let id, let ask, let bearer, let address):
      let question = RelayService.Question(ask: ask, bearer: bearer?.hash, address: address)
      desk.ask(RelayService.self, question, as: id) { outcome in
        var token: TokenHash?
        if case .loggedIn(let grant) = outcome { token = RelaySecrets.hash(grant.accessToken) }
        return .outcome(id, outcome, token: token, wall: BootClock().wall)
      }
    case .abandon(let id): desk.abandon(id, at: RelayService.self)
    }
  }
}

extension MCPRoute: ServiceRoute {
  /// A slash at the end means nothing: people and clients add one to an address.
  init?(path: String) { self.init(rawValue: path.hasSuffix("/") ? String(path.dropLast()) : path) }

  var name: String { word }
}

extension MCPServer.Bearer {
  fileprivate var hash: TokenHash {
    switch self {
    case .hash(let hash): hash
    case .text(let token): RelaySecrets.hash(token)
    }
  }
}
