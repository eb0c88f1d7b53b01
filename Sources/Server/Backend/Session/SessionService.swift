import HoldfastAssistants
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastPorts
import HoldfastProtocols
import HoldfastSQLiteStores
import HoldfastServerParts
import HoldfastServerSockets
import HoldfastSessionData
import HoldfastSessionServer

/// The service of sessions, which are sockets on which clients send prompts and receive answers and
/// histories.
struct SessionService: Service {
  /// A set of changes that become durable together or not at all.
  struct Write: Sendable {
    var token: StoreToken
    var changes: [SessionChange]
  }

  typealias Context = ServiceContext<SessionService>

  var rules: SessionServer
  let store: any SessionStore
  let stored: StoredSessions
  let key: Renewable<SessionKey>
  let tokens: TokenAuthority
  /// The program that answers prompts. If it is `nil`, each prompt is answered with its own text.
  let handlers: SessionHandlers?
  let originPolicy: OriginPolicy
  let proxies: TrustedProxies

  static var metricsName: String { "session" }

  static func databases(_ configuration: BackendConfiguration) -> [String] {
    ["\(configuration.dataDirectory)/session.sqlite"]
  }

  static var runsAtOneNode: Bool { true }

  /// Returns one more socket than the rules allow.
  ///
  /// The additional socket lets the rules refuse a client with a response.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int {
    configuration.session.maxSockets + 1
  }

  static func checkFiles(of configuration: BackendConfiguration) throws(BackendError) {
    _ = try SessionKey.find(at: configuration.sessionKeyPath)
  }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> SessionService {
    let configuration = setup.configuration
    let key = Renewable(try SessionKey.open(at: configuration.sessionKeyPath))
    let tokens = try setup.authority()
    setup.access.sessionKey.provide(key)
    let store = try await setup.store((any SessionStore).self) { () throws(StoreFailure) in
      try await SQLiteSessionStore.open(in: configuration.dataDirectory)
    }
    do throws(StoreFailure) {
      return SessionService(
        rules: SessionServer(
          policy: configuration.session, seed: .random(in: 0 ... .max), at: BootClock().now),
        store: store, stored: try await store.stored(), key: key,
        tokens: tokens,
        handlers: configuration.sessionHandler.map { SessionHandlers(command: $0) },
        originPolicy: configuration.assistantsHere.originPolicy, proxies: configuration.proxies)
    } catch {
      await store.close()
      throw .store(error)
    }
  }

  var port: (any HoldfastPorts.SuspendableStore)? { store }

  var first: SessionServer.Input? { .restored(stored, wall: BootClock().wall) }

  mutating func read(
    _ event: ServiceEvent<SessionRoute>, _ context: inout Context
  ) -> SessionServer.Input? {
    switch event {
    case .request(let id, _, _, _):
      let refusal = HTTPRefusal(426, "A client opens a WebSocket here.")
      context.respond(id, 426, refusal.headers + HTTPFields.upgradeRequired, refusal.bytes)
      return nil
    case .upgrade(let id, _, let head): return upgrade(id, head, &context)
    case .abandoned, .announced, .cut: return nil
    case .received(let id): return .received(id)
    case .text(let id, let bytes): return message(id, bytes)
    case .binary(let id):
      return .unreadable(id, detail: "A message is text, not binary.", field: nil)
    case .overflow(let id): return .overflowed(id)
    case .drained(let id): return .drained(id)
    case .closed(let id, _): return .gone(id, wall: BootClock().wall)
    }
  }

  func guarded(_ input: SessionServer.Input, fresh: () -> UUID128) -> HookRequest? {
    guard case .opened(let id, _, _) = input else { return nil }
    return .connect(id)
  }

  private func upgrade(
    _ id: ConnectionID, _ head: HTTPRequestHead, _ context: inout Context
  ) -> SessionServer.Input? {
    guard originPolicy.admit(origin: head.first("origin")) else {
      let refusal = HTTPRefusal(403, OriginPolicy.foreignOrigin)
      context.refuse(id, 403, refusal.headers, refusal.bytes)
      return nil
    }
    let arrival = SessionServer.Arrival(
      address: context.client(of: id, head, through: proxies), challenge: [UInt8].challenge(),
      credential: tokens.providedCredential(of: head))
    context.describe(id, [("user", arrival.credential?.user)])
    return .opened(id, arrival, wall: BootClock().wall)
  }

  private func message(_ id: ConnectionID, _ bytes: [UInt8]) -> SessionServer.Input {
    do {
      let message = try SessionClientMessage.read(bytes)
      return .said(id, message, proof: proof(in: message, on: id), wall: BootClock().wall)
    } catch {
      return .unreadable(id, detail: "\(error)", field: error.field)
    }
  }

  /// Verifies the key or the signature that a client presents.
  private func proof(
    in message: SessionClientMessage, on id: ConnectionID
  ) -> SessionServer.Proof {
    guard case .connect(let connect) = message else { return .none }
    if let key = connect.key { return self.key.value.isEqual(to: key) ? .key : .none }
    guard let proof = connect.proof, let challenge = rules.challenge(of: id) else { return .none }
    return key.value.signs(connect.signedText(challenge), as: proof) ? .challenge : .none
  }

  mutating func perform(_ effect: SessionServer.Effect, _ context: inout Context) {
    switch effect {
    case .accept(let id): context.accept(id)
    case .refuse(let id, let refusal):
      context.refuse(id, refusal.status, refusal.headers, refusal.bytes)
    case .send(let id, let message): context.hub.send(text: message.bytes, to: id)
    case .noticeDrain(let id): context.hub.noticeDrain(of: id)
    case .ping(let id): context.hub.ping(id)
    case .close(let id, let closure): context.close(id, closure)
    case .drop(let id): context.hub.drop(id)
    case .run(let id, let prompt): run(id, prompt, &context)
    case .cancel(let id): handlers?.cancel(id)
    case .store(let token, let changes): context.write([Write(token: token, changes: changes)])
    case .finished: break
    }
  }

  private func run(_ id: SessionPromptID, _ prompt: SessionPrompt, _ context: inout Context) {
    guard let handlers else {
      return context.feed(.ended(id, .success(text: prompt.text), wall: BootClock().wall))
    }
    guard let report = context.entrance() else { return }
    handlers.start(id, prompt, report: report)
  }

  /// Makes all changes durable in one commit. Either all of them become durable or none.
  static func commit(
    _ writes: [Write], to store: any SessionStore
  ) async -> [Stored<SessionServer.Input>] {
    var failure: StoreFailure?
    do throws(StoreFailure) {
      try await store.apply(writes.flatMap(\.changes))
    } catch {
      failure = error
    }
    let wall = BootClock().wall
    return writes.map {
      Stored(input: .stored($0.token, failure: failure, wall: wall), failure: failure)
    }
  }
}

extension BackendConfiguration {
  /// The path of the file with the key that session clients present.
  public var sessionKeyPath: String { sessionKeyFile ?? "\(dataDirectory)/session-key" }
}

/// The only route of sessions.
enum SessionRoute: ServiceRoute {
  case session

  /// Creates the route for a decoded path.
  init?(path: String) {
    guard path == "/session" else { return nil }
    self = .session
  }

  var name: String { "session" }

  var opensSocket: Bool { true }

  /// The limits of a socket. The queue has room for the longest message in addition to the messages
  /// in transit.
  var bounds: SocketBounds {
    SocketBounds(
      maxMessageBytes: SessionClientMessage.maxBytes, maxQueuedBytes: 4 << 20, allowsDeflate: true)
  }
}
