import LinkCore
import LinkHealth
import LinkJSON
import LinkProtocols
import LinkRuntime
public import LinkServerCore
import LinkStorage
import LinkWire
import ServerSockets
import StoreSQLite

/// The relay between phones and assistants; phones come by socket or by pulls, assistants by calls
/// of another service.
struct RelayService: AnsweringService {
  /// A call of an assistant, as the relay takes it.
  struct Question: Sendable {
    var ask: RelayAsk
    var bearer: TokenHash?
    /// The address that wrong pairs are counted by.
    var address: String
  }

  /// Changes that are made durable all or none.
  struct Write: Sendable {
    var token: StoreToken
    var changes: [RelayChange]
  }

  typealias Desk = ServiceDesk<RelayService>
  typealias Outcome = RelayOutcome

  static let stopped = RelayOutcome.refused(.stopping(retryAfter: .seconds(1)))

  var rules: RelayServer
  let store: any RelayStore
  let kept: StoredRelay
  let doors: WebDoors
  let proxies: TrustedProxies
  let pushes: (any PushSender)?
  let log: BackendLog

  static func maxSockets(_ configuration: BackendConfiguration) -> Int {
    configuration.relay.maxSockets
  }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> RelayService {
    let configuration = setup.configuration
    let store = try await setup.store((any RelayStore).self) { () throws(StoreFailure) in
      try await SQLiteRelayStore.open(in: configuration.dataDirectory)
    }
    do throws(StoreFailure) {
      return RelayService(
        rules: RelayServer(
          policy: configuration.relay, life: RelaySecrets.life(), at: BootClock().now),
        store: store, kept: try await store.kept(), doors: configuration.assistantsHere.doors,
        proxies: configuration.proxies, pushes: setup.pushes, log: setup.log)
    } catch {
      await store.close()
      throw .store(error)
    }
  }

  var port: (any LinkRuntime.Store)? { store }

  var first: RelayServer.Input? { .restored(kept, wall: BootClock().wall) }

  static func asked(_ id: AskID, _ question: Question) -> RelayServer.Input {
    .ask(
      id, question.ask, bearer: question.bearer, from: question.address, wall: BootClock().wall)
  }

  static func kind(of question: Question) -> String {
    switch question.ask {
    case .login: "login"
    case .question(let question): question.kind.rawValue
    case .logout: "logout"
    }
  }

  static func abandoned(_ id: AskID) -> RelayServer.Input { .abandoned(id) }

  mutating func read(
    _ event: ServiceEvent<RelayRoute>, _ desk: inout Desk
  ) -> RelayServer.Input? {
    switch event {
    case .request(let id, let route, let head, let body):
      return request(id, route, head, body, &desk)
    case .upgrade(let id, _, let head): return upgrade(id, head, &desk)
    case .announced, .cut: return nil
    case .abandoned:
      // Done all the same: every pull may be repeated.
      return nil
    case .heard(let id): return .heard(id)
    case .text(let id, let bytes):
      do {
        return .phoneSaid(id, try PhoneMessage.read(bytes))
      } catch {
        return .phoneUnreadable(id, error)
      }
    case .binary(let id):
      return .phoneUnreadable(id, RelayWireError(.malformed(detail: "a binary message")))
    case .overflow(let id): return .overflowed(id)
    case .drained: return nil
    case .closed(let id, let code): return .phoneGone(id, code: code, wall: BootClock().wall)
    }
  }

  private func request(
    _ id: RequestID, _ route: RelayRoute, _ head: HTTPRequestHead, _ body: [UInt8],
    _ desk: inout Desk
  ) -> RelayServer.Input? {
    guard head.method == route.method else {
      let error = RelayReply.error("method_not_allowed", "This route knows \(route.method) only.")
      desk.respond(id, 405, HTTPFields.json + [("Allow", route.method)], error)
      return nil
    }
    switch route {
    case .phone:
      let error = RelayReply.error("upgrade_required", "A phone opens a WebSocket here.")
      desk.respond(id, 426, HTTPFields.json + HTTPFields.upgradeRequired, error)
    case .health:
      let status = rules.serviceHealth == .draining ? 503 : 200
      desk.respond(id, status, HTTPFields.json, rules.healthBytes)
    case .lease, .results, .push, .assistants:
      do {
        guard let pull = try route.pull(body) else { return nil }
        let hash = head.bearer.map(RelaySecrets.hash)
        return .pull(id, pull, bearer: hash, wall: BootClock().wall)
      } catch {
        let body = RelayReply.error("malformed", error.description)
        desk.respond(id, 400, HTTPFields.json, body)
      }
    }
    return nil
  }

  private func upgrade(
    _ id: ConnectionID, _ head: HTTPRequestHead, _ desk: inout Desk
  ) -> RelayServer.Input? {
    // A phone is no web page: one would pair its visitor's browser with an assistant of its own.
    guard doors.admit(origin: head.first("origin")) else {
      let error = RelayReply.error("forbidden", WebDoors.foreignOrigin)
      desk.refuse(id, 403, HTTPFields.json, error)
      return nil
    }
    let arrival = RelayServer.Arrival(
      device: head.first("holdfast-device").flatMap { UUID128($0) },
      resume: head.first("holdfast-resume").map(RelaySecrets.hash),
      address: desk.client(of: id, head, through: proxies))
    return .phoneOpened(id, arrival, wall: BootClock().wall)
  }

  mutating func perform(_ effect: RelayServer.Effect, _ desk: inout Desk) {
    switch effect {
    case .accept(let id): desk.accept(id)
    case .refuse(let id, let refusal):
      desk.refuse(id, refusal.status, refusal.headers, refusal.bytes)
    case .send(let id, let message): desk.hub.send(text: message.bytes, to: id)
    case .ping(let id): desk.hub.ping(id)
    case .close(let id, let closure): desk.close(id, closure)
    case .drop(let id): desk.hub.drop(id)
    case .answer(let ask, let outcome): desk.answer(ask, outcome, word: outcome.word)
    case .respond(let id, let reply):
      let response = reply.response
      desk.respond(id, response.status, response.headers, response.body)
    case .mint(let mint): desk.feed(.minted(RelaySecrets.draw(mint)))
    case .store(let token, let changes): desk.write([Write(token: token, changes: changes)])
    case .push(let phone, let address, let expiresAt): push(phone, address, expiresAt, desk)
    case .finished: break
    }
  }

  private func push(
    _ phone: PhoneID, _ address: PushAddress, _ expiresAt: Timestamp, _ desk: Desk
  ) {
    guard let pushes else { return }
    let push = Push(address: address, expiresAt: expiresAt, collapseID: phone.description)
    let log = log
    desk.start {
      let outcome = await pushes.send(push)
      var line = LogLine(.pushed)
      line.outcome = outcome.word
      if case .failed(let cause) = outcome { line.detail = cause }
      log.note(line)
      return Stored(input: .pushed(phone, to: address, outcome))
    }
  }

  /// Makes changes durable one after the other, each all or none.
  static func commit(
    _ writes: [Write], to store: any RelayStore
  ) async -> [Stored<RelayServer.Input>] {
    var stored: [Stored<RelayServer.Input>] = []
    for write in writes {
      var failure: StoreFailure?
      do throws(StoreFailure) {
        try await store.apply(write.changes)
      } catch {
        failure = error
      }
      stored.append(Stored(input: .stored(write.token, failure: failure), failure: failure))
    }
    return stored
  }
}

extension PushOutcome {
  fileprivate var word: String {
    switch self {
    case .delivered: "delivered"
    case .gone: "gone"
    case .tooMany: "too_many"
    case .failed: "failed"
    }
  }
}

extension Backend {
  /// Calls the relay as an assistant at `address` does, without a socket.
  public func ask(
    _ ask: RelayAsk, bearer: String? = nil, from address: String = "process"
  ) async throws(BackendError) -> RelayOutcome {
    let sockets = try sockets()
    let question = RelayService.Question(
      ask: ask, bearer: bearer.map(RelaySecrets.hash), address: address)
    return await withCheckedContinuation { caller in
      sockets.inject { handler, hub in
        handler.turn(on: hub) {
          $0.call(RelayService.self, question) { caller.resume(returning: $0) }
        }
      }
    }
  }
}
