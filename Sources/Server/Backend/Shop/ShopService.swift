import HoldfastCore
import HoldfastFeaturePorts
import HoldfastIdentity
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastNodeBus
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastProtocols
import HoldfastSQLiteStores
import HoldfastServerParts
import HoldfastServerSockets

/// The service of shop messages: posts, pages and streams.
struct ShopService: Service {
  var rules: ShopServer
  let store: any MessageLog
  /// The members that had been removed before the start.
  let removed: [Membership]
  let tokens: TokenAuthority
  let images: any ImageContents
  /// The bus to the other nodes that write the same log; `nil` if there are none.
  let nodes: NodeBus?
  /// The queue for the removal of images.
  private let files = FileQueue(label: "holdfast.erasure")
  let limits: MessageLimits
  /// The callers that wait for the answers to requests of this process.
  var callers = ProcessCallers()

  static var metricsName: String { "shop" }

  static func databases(_ configuration: BackendConfiguration) -> [String] {
    let database = configuration.messageDatabase
    return ["\(database.directory)/\(database.name).sqlite"]
  }

  /// Returns the sum of the rules' limits on open sockets and on waiting requests.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int {
    configuration.policy.maxConnections + configuration.policy.maxRequests
  }

  static func checkFiles(of configuration: BackendConfiguration) throws(BackendError) {
    _ = try Tokens.find(in: configuration.dataDirectory)
    _ = try RemovalsFile(directory: configuration.dataDirectory).read()
  }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> ShopService {
    let configuration = setup.configuration
    let tokens = try setup.authority()
    let removed = Set(try RemovalsFile(directory: configuration.dataDirectory).read())
    let database = configuration.messageDatabase
    let store = try await setup.store((any MessageLog).self) { () throws(StoreFailure) in
      try await SQLiteMessageLog.open(
        in: database.directory, named: database.name, newEpoch: configuration.beginsNewEpoch)
    }
    setup.messages.provide(store)
    var policy = configuration.rules
    policy.sharesLog = setup.nodes != nil
    let rules = ShopServer(
      policy: policy, seed: .random(in: 0 ... .max), at: BootClock().now)
    return ShopService(
      rules: rules, store: store, removed: removed.sorted(), tokens: tokens,
      images: setup.images, nodes: setup.nodes,
      limits: configuration.policy.limits)
  }

  var port: (any HoldfastPorts.SuspendableStore)? { store }

  mutating func end() { callers.end() }

  var first: ShopServer.Input? { .removals(removed) }

  func close() async {
    // After a failure, the next start removes the content of deleted images.
    try? await images.removeDeleted(of: store)
    await store.close()
  }

  mutating func read(
    _ event: ServiceEvent<ShopRoute>, _ context: inout ServiceContext<ShopService>
  ) -> ShopServer.Input? {
    switch event {
    case .request(let id, _, let head, let body): return request(id, head, body, &context)
    case .upgrade(let id, let route, let head): return upgrade(id, route, head, &context)
    case .abandoned(let id): return .abandoned(id)
    case .received(let id): return .received(id)
    case .overflow(let id): return .overflowed(id)
    case .closed(let id, let code): return .gone(id, code: code)
    case .text, .binary, .drained, .announced, .cut:
      // The stream is read-only, and `received` has already reported these bytes.
      return nil
    }
  }

  private func request(
    _ id: RequestID, _ head: HTTPRequestHead, _ body: [UInt8],
    _ context: inout ServiceContext<ShopService>
  ) -> ShopServer.Input {
    let call = Call.read(
      method: head.method, path: head.wholePath,
      query: head.query.map { (name: $0.name, value: $0.value) },
      key: head.first("idempotency-key"), events: head.asksForEvents, body: body, limits: limits)
    let credential = call.route.isGuarded ? tokens.credential(of: head) : .missing
    context.describe(id, route: call.route.rawValue, names(credential.user, call.shop))
    return .request(id, call, credential, wall: BootClock().wall)
  }

  private func upgrade(
    _ id: ConnectionID, _ route: ShopRoute, _ head: HTTPRequestHead,
    _ context: inout ServiceContext<ShopService>
  ) -> ShopServer.Input? {
    guard case .stream(let shop) = route else { return nil }
    let credential = tokens.credential(of: head)
    context.describe(id, names(credential.user, shop))
    let after = head.first(StreamHeader.after.lowercased()).flatMap { ShopPosition($0) }
    return .upgrade(
      id, shop, after: after, events: head.asksForEvents, credential, wall: BootClock().wall)
  }

  /// Returns the facts about a client for the log.
  private func names(_ user: String?, _ shop: ShopID?) -> LogLine.Names {
    [("user", user), ("shop", shop?.text)]
  }

  func guarded(_ input: ShopServer.Input, fresh: () -> UUID128) -> HookRequest? {
    if let id = rules.arrival(in: input) { return .connect(id) }
    return rules.post(in: input, fresh: fresh).map { .post($0, $1) }
  }

  func allowed(
    _ input: ShopServer.Input, as id: UUID128?, wall: Timestamp
  ) -> ShopServer.Input {
    input.allowed(as: id, wall: wall)
  }

  mutating func perform(
    _ effect: ShopServer.Effect, _ context: inout ServiceContext<ShopService>
  ) {
    switch effect {
    case .append(let appends): context.write(appends)
    case .shop(let token, let id):
      ask(token, context) { store throws(StoreFailure) in .shop(try await store.shop(of: id)) }
    case .page(let token, let shop, let query):
      ask(token, context) { store throws(StoreFailure) in
        let page = try await store.page(query, of: shop)
        return .page(page, total: try await store.count(query, of: shop))
      }
    case .head(let token, let shop):
      ask(token, context) { store throws(StoreFailure) in try await Self.head(of: shop, in: store) }
    case .heads(let token, let shops):
      ask(token, context) { store throws(StoreFailure) in .heads(try await store.heads(of: shops)) }
    case .tail(let token, let shop, let query):
      ask(token, context) { store throws(StoreFailure) in
        .page(try await store.page(query, of: shop), total: 0)
      }
    case .tell(let shop, let position): nodes?.tell(position, of: shop)
    case .forget(let token, let trace): remove(trace, token, context)
    case .answer(let id, let answer): reply(answer, to: id, &context)
    case .accept(let id, let head, let after, let events):
      let fields = [
        (StreamHeader.head, head?.description), (StreamHeader.after, after?.description),
        (StreamHeader.events, events ? "1" : nil),
      ]
      context.accept(id, fields.compactMap { name, value in value.map { (name, $0) } })
    case .refuse(let id, let answer):
      context.refuse(id, answer.status, answer.headers, answer.bytes)
    case .send(let frame, let listeners):
      context.hub.send(frame: WebSocketFrame.text(frame.payload), to: listeners)
    case .ping(let id): context.hub.ping(id)
    case .close(let id, let closure): context.close(id, closure)
    case .drop(let id): context.hub.drop(id)
    case .finished: break
    }
  }

  /// Answers a request of a client, or of this process.
  private mutating func reply(
    _ answer: Answer, to id: RequestID, _ context: inout ServiceContext<ShopService>
  ) {
    guard !callers.answered(id, answer) else { return }
    context.respond(id, answer.status, answer.headers, answer.bytes)
  }

  /// Removes traces of edited and deleted messages from all files.
  private func remove(
    _ trace: MessageTrace, _ token: StoreToken, _ context: ServiceContext<ShopService>
  ) {
    let images = images
    ask(token, context, on: files) { store throws(StoreFailure) in
      switch trace {
      case .texts:
        try await store.removeTraces()
        try await store.check()
      case .images: try await images.removeDeleted(of: store)
      }
      return .forgotten
    }
  }

  /// Returns the position and the time of the newest message.
  ///
  /// Both come from a single query, so they refer to the same moment.
  private static func head(
    of shop: ShopID, in store: any MessageLog
  ) async throws(StoreFailure) -> ShopServer.StoreAnswer {
    let page = try await store.page(.page(number: 1, limit: 1), of: shop)
    guard let head = page.head else { return .head(try await store.head(of: shop)) }
    return .head(head, newest: page.messages.first?.createdAt)
  }

  private func ask(
    _ token: StoreToken, _ context: ServiceContext<ShopService>, on queue: FileQueue? = nil,
    _ question:
      @escaping @Sendable (any MessageLog) async throws(StoreFailure) -> ShopServer.StoreAnswer
  ) {
    let store = store
    context.start(on: queue) {
      do throws(StoreFailure) {
        return Stored(input: .stored(token, try await question(store)))
      } catch {
        return Stored(input: .stored(token, .failed(error)), failure: error)
      }
    }
  }

  /// Makes the posts, edits and deletions of all shops durable in one commit.
  static func commit(
    _ writes: [ShopServer.Append], to store: any MessageLog
  ) async -> [Stored<ShopServer.Input>] {
    let results = await store.append(writes.map(\.change))
    return writes.enumerated().map { index, write in
      switch results.indices.contains(index) ? results[index] : .failure(.unanswered) {
      case .success(let outcome): Stored(input: .stored(write.token, .appended(outcome)))
      case .failure(let failure):
        Stored(input: .stored(write.token, .failed(failure)), failure: failure)
      }
    }
  }
}

extension ShopRoute: ServiceRoute {
  var takesHead: Bool { true }

  var name: String {
    let route: ShopCallRoute =
      switch self {
      case .send: .send
      case .message: .delete
      case .all: .all
      case .paginated: .page
      case .stream: .stream
      case .streamHealth: .streamHealth
      }
    return route.rawValue
  }

  var opensSocket: Bool {
    switch self {
    case .stream: true
    case .send, .message, .all, .paginated, .streamHealth: false
    }
  }
}

extension BackendConfiguration {
  /// The location of the messages, if they are in a file.
  fileprivate var messageDatabase: Database {
    database ?? Database(directory: dataDirectory, name: "messages")
  }

  /// The policy of the rules. Its limits leave room in a socket's queue after each batch.
  fileprivate var rules: ShopServerPolicy {
    var rules = policy
    rules.maxBacklogBytes = min(rules.maxBacklogBytes, maxQueuedBytes / 2)
    rules.maxCommitBytes = min(rules.maxCommitBytes, maxQueuedBytes / 4)
    return rules
  }
}

extension HTTPRequestHead {
  /// Whether the client asks for edits and deletions.
  fileprivate var asksForEvents: Bool { first(StreamHeader.events.lowercased()) == "1" }
}

extension Credential {
  /// The user of a valid token, for the log.
  var user: String? {
    switch self {
    case .valid(let claims): claims.user
    case .missing, .invalid, .unchecked: nil
    }
  }
}

extension Call {
  /// The shop that the call concerns, for the log.
  var shop: ShopID? {
    switch self {
    case .send(let draft): draft.shop
    case .all(let shop), .page(let shop, _, _): shop
    case .edit, .delete, .streamHealth, .refused: nil
    }
  }
}
