import HoldfastAssistants
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastPorts
import HoldfastProtocols
import HoldfastRelayData
public import HoldfastRelayServer
import HoldfastSQLiteStores
import HoldfastServerParts
import HoldfastServerSockets

/// The service that relays calls between phones and assistants.
///
/// Phones connect through a socket or through pulls. Assistants connect through the Model Context
/// Protocol or the plain endpoints.
struct RelayService: Service {
  /// A set of changes that become durable together or not at all.
  struct Write: Sendable {
    /// Returns the input that reports the end of the write.
    var done: @Sendable (StoreFailure?) -> RelayRules.Input
    var changes: [RelayChange]
  }

  /// A call that has no outcome yet.
  private struct Call: Sendable {
    /// The name of the call's kind in the log.
    var kind: String
    var since: Instant
    var caller: Caller
  }

  private enum Caller: Sendable {
    /// An assistant. The call has the same ID as the assistant's request.
    case assistant
    /// The sign-in of an assistant, likewise.
    case oauth
    /// This process itself.
    case process(@Sendable (RelayOutcome) -> Void)
  }

  typealias Context = ServiceContext<RelayService>

  var rules: RelayRules
  let store: any RelayStore
  private let stored: StoredRelay
  private let originPolicy: OriginPolicy
  private let proxies: TrustedProxies
  private let pushes: (any PushSender)?
  private let synced: SyncedSamples
  private let log: BackendLog
  private let signIn: OAuthSetup?
  private var calls: [RequestID: Call] = [:]
  /// The ID of the latest call made by this process.
  ///
  /// These IDs begin in the middle of the range. No request of a connection and no message of a
  /// batch reaches that value.
  private var lastProcessCall: UInt64 = 1 << 63

  static var metricsName: String { "relay" }

  static func databases(_ configuration: BackendConfiguration) -> [String] {
    ["\(configuration.dataDirectory)/relay.sqlite"]
  }

  static var runsAtOneNode: Bool { true }

  static func maxSockets(_ configuration: BackendConfiguration) -> Int {
    configuration.relay.maxSockets
  }

  private init(
    _ setup: BackendSetup, _ store: any RelayStore, _ stored: StoredRelay, _ signIn: OAuthSetup?
  ) {
    let configuration = setup.configuration
    let now = BootClock().now
    rules = RelayRules(
      relay: RelayServer(policy: configuration.relay, life: RelaySecrets.life(), at: now),
      assistants: MCPServer(policy: configuration.assistantsHere, at: now),
      oauth: signIn?.server(configuration, at: now))
    self.signIn = signIn
    (self.store, self.stored) = (store, stored)
    (originPolicy, proxies) = (configuration.assistantsHere.originPolicy, configuration.proxies)
    (pushes, log) = (setup.pushes, setup.log)
    synced = setup.synced
  }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> RelayService {
    let directory = setup.configuration.dataDirectory
    let signIn = try OAuthSetup.open(setup.configuration)
    let store = try await setup.store((any RelayStore).self) { () throws(StoreFailure) in
      try await SQLiteRelayStore.open(in: directory)
    }
    do throws(StoreFailure) {
      return RelayService(setup, store, try await store.stored(), signIn)
    } catch {
      await store.close()
      throw .store(error)
    }
  }

  var port: (any HoldfastPorts.SuspendableStore)? { store }

  var first: RelayRules.Input? { .relay(.restored(stored, wall: BootClock().wall)) }

  // MARK: Events

  mutating func read(
    _ event: ServiceEvent<RelayServiceRoute>, _ context: inout Context
  ) -> RelayRules.Input? {
    switch event {
    case .request(let id, .assistant(let route), let head, let body):
      let address = context.client(of: context.hub.connection(of: id), head, through: proxies)
      var call = MCPCall(head, route, body: body, address: address)
      if let signIn, route == .mcp { call.fields.permission = signIn.permission(of: head) }
      return .assistants(.request(id, call, fresh: MCPSessionID(random: .random(16))))
    case .request(let id, .oauth(let route), let head, let body):
      return request(id, route, head, body, &context).map { .oauth($0) }
    case .request(let id, .phone(let route), let head, let body):
      return request(id, route, head, body, &context).map { .relay($0) }
    case .upgrade(let id, _, let head): return upgrade(id, head, &context).map { .relay($0) }
    // A pull of a client that has left is still carried out, because every pull may be repeated.
    case .abandoned(let id):
      if signIn != nil { context.feed(.oauth(.abandoned(id))) }
      return .assistants(.abandoned(id))
    case .received(let id): return .relay(.received(id))
    case .text(let id, let bytes):
      do {
        return .relay(.phoneSaid(id, try PhoneMessage.read(bytes)))
      } catch {
        return .relay(.phoneUnreadable(id, error))
      }
    case .binary(let id):
      let error = RelayWireError(.malformed(detail: "a binary message"))
      return .relay(.phoneUnreadable(id, error))
    case .overflow(let id): return .relay(.overflowed(id))
    case .closed(let id, let code):
      return .relay(.phoneGone(id, code: code, wall: BootClock().wall))
    case .drained, .announced, .cut: return nil
    }
  }

  private func request(
    _ id: RequestID, _ route: RelayRoute, _ head: HTTPRequestHead, _ body: [UInt8],
    _ context: inout Context
  ) -> RelayServer.Input? {
    guard head.method == route.method else {
      let error = RelayReply.error("method_not_allowed", "This route accepts only \(route.method).")
      context.respond(id, 405, HTTPFields.json + [("Allow", route.method)], error)
      return nil
    }
    switch route {
    case .phone:
      let error = RelayReply.error("upgrade_required", "A phone opens a WebSocket here.")
      context.respond(id, 426, HTTPFields.json + HTTPFields.upgradeRequired, error)
    case .health:
      let status = rules.relay.serviceHealth == .draining ? 503 : 200
      context.respond(id, status, HTTPFields.json, rules.relay.healthBytes)
    case .lease, .results, .push, .assistants, .sync:
      do {
        let address = context.client(of: context.hub.connection(of: id), head, through: proxies)
        guard let pull = try route.pull(body, synced, from: address) else { return nil }
        let hash = head.bearer.map(RelaySecrets.hash)
        return .pull(id, pull, bearer: hash, wall: BootClock().wall)
      } catch {
        let body = RelayReply.error("malformed", error.description)
        context.respond(id, 400, HTTPFields.json, body)
      }
    }
    return nil
  }

  private func request(
    _ id: RequestID, _ route: OAuthRoute, _ head: HTTPRequestHead, _ body: [UInt8],
    _ context: inout Context
  ) -> OAuthServer.Input? {
    guard signIn != nil else {
      let refusal = HTTPRefusal(404, "no such route")
      context.respond(id, refusal.status, refusal.headers, refusal.bytes)
      return nil
    }
    let address = context.client(of: context.hub.connection(of: id), head, through: proxies)
    let call = OAuthCall(head, route, body: body, address: address)
    return .request(id, call, fresh: .random(32), wall: BootClock().wall)
  }

  private func upgrade(
    _ id: ConnectionID, _ head: HTTPRequestHead, _ context: inout Context
  ) -> RelayServer.Input? {
    // A phone is not a web page. A web page could pair the browser of its visitor with an assistant
    // of its own.
    guard originPolicy.admit(origin: head.first("origin")) else {
      let error = RelayReply.error("forbidden", OriginPolicy.foreignOrigin)
      context.refuse(id, 403, HTTPFields.json, error)
      return nil
    }
    let arrival = RelayServer.Arrival(
      device: head.first("holdfast-device").flatMap { UUID128($0) },
      resume: head.first("holdfast-resume").map(RelaySecrets.hash),
      address: context.client(of: id, head, through: proxies))
    return .phoneOpened(id, arrival, wall: BootClock().wall)
  }

  func guarded(_ input: RelayRules.Input, fresh: () -> UUID128) -> HookRequest? {
    guard case .relay(.phoneOpened(let id, _, _)) = input else { return nil }
    return .connect(id)
  }

  // MARK: Effects

  mutating func perform(_ effect: RelayRules.Effect, _ context: inout Context) {
    switch effect {
    case .relay(let effect): perform(effect, &context)
    case .assistants(let effect): perform(effect, &context)
    case .oauth(let effect): perform(effect, &context)
    }
  }

  private mutating func perform(_ effect: RelayServer.Effect, _ context: inout Context) {
    switch effect {
    case .accept(let id): context.accept(id)
    case .refuse(let id, let refusal):
      context.refuse(id, refusal.status, refusal.headers, refusal.bytes)
    case .send(let id, let message): context.hub.send(text: message.bytes, to: id)
    case .ping(let id): context.hub.ping(id)
    case .close(let id, let closure): context.close(id, closure)
    case .drop(let id): context.hub.drop(id)
    case .answer(let id, let outcome): answer(id, outcome, &context)
    case .respond(let id, let reply):
      let response = reply.response
      context.respond(id, response.status, response.headers, response.body)
    case .drawToken(let drawToken):
      context.feed(.relay(.tokenDrawn(RelaySecrets.draw(drawToken, signIn?.hashes))))
    case .store(let token, let changes):
      context.write([Write(done: { .relay(.stored(token, failure: $0)) }, changes: changes)])
    case .push(let phone, let address, let expiresAt): push(phone, address, expiresAt, context)
    case .readSynced(let id, let question, let user):
      let synced = synced
      context.start {
        let answer = await synced.answer(question, of: user, at: BootClock().wall)
        return Stored(input: .relay(.synced(id, answer.object)), failure: answer.failure)
      }
    case .finished: break
    }
  }

  private mutating func perform(_ effect: MCPServer.Effect, _ context: inout Context) {
    switch effect {
    case .answer(let id, let reply): context.respond(id, reply.status, reply.headers, reply.body)
    case .watch(let id): context.watch(id)
    case .begin(let id, let session, let origin):
      context.begin(
        id,
        MCPReply.eventHeaders + MCPReply.headers(of: session) + MCPReply.headers(forPageOf: origin))
    case .write(let id, let bytes): context.write(id, bytes)
    case .end(let id): context.end(id)
    case .call(let id, let call, let bearer, let address):
      context.feed(
        begin(call, as: id, bearer?.hash, from: address, by: .assistant, at: context.now))
    case .abandon(let id):
      if calls.removeValue(forKey: id) != nil { context.feed(.relay(.abandoned(id))) }
    case .store(let token, let changes):
      context.write([
        Write(done: { .assistants(.stored(token, failure: $0)) }, changes: changes)
      ])
    }
  }

  private mutating func perform(_ effect: OAuthServer.Effect, _ context: inout Context) {
    switch effect {
    case .answer(let id, let reply): context.respond(id, reply.status, reply.headers, reply.body)
    case .watch(let id): context.watch(id)
    case .call(let id, let call, let grant, let address):
      context.feed(begin(call, as: id, grant, from: address, by: .oauth, at: context.now))
    case .abandon(let id):
      if calls.removeValue(forKey: id) != nil { context.feed(.relay(.abandoned(id))) }
    case .fetch(let url, let limit, let maxBytes):
      guard let client = signIn?.client else { return }
      context.start {
        let found = await client.document(url, within: limit, maxBytes: maxBytes)
        return Stored(input: .oauth(.fetched(url, found, wall: BootClock().wall)))
      }
    }
  }

  // MARK: Calls

  /// Begins a call made by this process. `answer` is called once.
  mutating func call(
    _ call: RelayCall, bearer: TokenHash?, from address: String, at now: Instant,
    _ answer: @escaping @Sendable (RelayOutcome) -> Void
  ) -> RelayRules.Input {
    lastProcessCall += 1
    return begin(
      call, as: RequestID(lastProcessCall), bearer, from: address, by: .process(answer), at: now)
  }

  private mutating func begin(
    _ call: RelayCall, as id: RequestID, _ bearer: TokenHash?, from address: String,
    by caller: Caller, at now: Instant
  ) -> RelayRules.Input {
    calls[id] = Call(kind: call.kind, since: now, caller: caller)
    return .relay(.call(id, call, bearer: bearer, from: address, wall: BootClock().wall))
  }

  /// Delivers the outcome of a call to its caller.
  private mutating func answer(_ id: RequestID, _ outcome: RelayOutcome, _ context: inout Context) {
    guard let call = calls.removeValue(forKey: id) else { return }
    var line = LogLine(.asked)
    (line.route, line.outcome) = (call.kind, outcome.name)
    line.elapsed = call.since.duration(to: context.now)
    log.note(line)
    switch call.caller {
    case .process(let answer): answer(outcome)
    case .assistant:
      var token: TokenHash?
      if case .loggedIn(let grant) = outcome { token = RelaySecrets.hash(grant.accessToken) }
      context.feed(.assistants(.outcome(id, outcome, token: token, wall: BootClock().wall)))
    case .oauth: context.feed(.oauth(.outcome(id, outcome, wall: BootClock().wall)))
    }
  }

  mutating func end() {
    let open = calls.sorted { $0.key < $1.key }
    calls = [:]
    for case .process(let answer) in open.map(\.value.caller) {
      answer(.refused(.stopping(retryAfter: .seconds(1))))
    }
  }

  // MARK: Slow work

  private func push(
    _ phone: PhoneID, _ address: PushAddress, _ expiresAt: Timestamp, _ context: Context
  ) {
    guard let pushes else { return }
    let push = Push(address: address, expiresAt: expiresAt, collapseID: phone.description)
    let log = log
    context.start {
      let outcome = await pushes.send(push)
      var line = LogLine(.pushed)
      line.outcome = outcome.name
      if case .failed(let cause) = outcome { line.detail = cause }
      log.note(line)
      return Stored(input: .relay(.pushed(phone, to: address, outcome)))
    }
  }

  /// Makes the writes durable in turn. All changes of a write become durable, or none.
  @concurrent static func commit(
    _ writes: [Write], to store: any RelayStore
  ) async -> [Stored<RelayRules.Input>] {
    var stored: [Stored<RelayRules.Input>] = []
    for write in writes {
      var failure: StoreFailure?
      do throws(StoreFailure) {
        try await store.apply(write.changes)
      } catch {
        failure = error
      }
      stored.append(Stored(input: write.done(failure), failure: failure))
    }
    return stored
  }
}

extension RelayCall {
  /// The name of the call's kind in the log.
  fileprivate var kind: String {
    switch self {
    case .login: "login"
    case .grant: "sign_in"
    case .renew: "renew"
    case .question(let question): question.kind.rawValue
    case .logout: "logout"
    }
  }
}

extension PushOutcome {
  fileprivate var name: String {
    switch self {
    case .delivered: "delivered"
    case .gone: "gone"
    case .tooMany: "too_many"
    case .failed: "failed"
    }
  }
}

extension Backend {
  /// Makes a call to the relay as an assistant at `address`, without using a socket.
  public func ask(
    _ call: RelayCall, bearer: String? = nil, from address: String = "process"
  ) async throws(BackendError) -> RelayOutcome {
    let sockets = try sockets()
    let bearer = bearer.map(RelaySecrets.hash)
    return await withCheckedContinuation { caller in
      sockets.inject { handler, hub in
        handler.turn(on: hub) { handler in
          let isHere = handler.work(on: RelayService.self) { runner in
            runner.feed { service, now in
              service.call(call, bearer: bearer, from: address, at: now) {
                caller.resume(returning: $0)
              }
            }
          }
          // Another node runs the relay.
          if !isHere { caller.resume(returning: .refused(.stopping(retryAfter: .seconds(2)))) }
        }
      }
    }
  }
}
