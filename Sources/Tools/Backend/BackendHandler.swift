import LinkCore
import LinkProtocols
import LinkServerCore
import LinkWire
import ServerSockets

/// Owns the parts of the backend, gives each event to the part whose route it is on, carries what
/// the parts have for each other, and sets the one alarm of the sockets.
struct BackendHandler: SocketHandler {
  /// Who answers on a route.
  enum Part: Sendable {
    case shop, relay, assistants

    /// By the decoded path; what is nobody's is the shop's, which answers 404.
    init(path: String) {
      if RelayRoute(path: path) != nil {
        self = .relay
      } else {
        self = MCPRoute(rawValue: path) == nil ? .shop : .assistants
      }
    }
  }

  /// Who waits for an outcome of the relay.
  private enum Caller {
    /// Within the process.
    case process(@Sendable (RelayOutcome) -> Void)
    /// An assistant, by the name that its rules gave the call.
    case assistant(AskID)
  }

  var shop: ShopHandler
  var relay: RelayHandler
  var assistants: MCPHandler
  private var callers: [AskID: Caller] = [:]
  /// How the relay names the assistants' calls.
  private var asked: [AskID: AskID] = [:]
  /// Called once when all parts have drained.
  var whenFinished: (@Sendable () -> Void)?

  init(shop: ShopHandler, relay: RelayHandler, assistants: MCPHandler) {
    self.shop = shop
    self.relay = relay
    self.assistants = assistants
  }

  /// Starts the parts; called once, before the first event.
  mutating func begin(
    with kept: RelayKept, on hub: SocketHub,
    inject:
      @escaping @Sendable (
        @escaping @Sendable (inout BackendHandler, SocketHub) -> Void
      ) -> Void
  ) {
    shop.begin(at: hub.now) { input in
      inject { handler, hub in handler.turn(on: hub) { input(&$0.shop, hub) } }
    }
    assistants.begin(at: hub.now)
    turn(on: hub) {
      $0.relay.begin(with: kept, on: hub) { input in
        inject { handler, hub in handler.turn(on: hub) { input(&$0.relay, hub) } }
      }
    }
  }

  /// Lets go of the server; late answers of stores then reach nobody.
  mutating func end() {
    shop.end()
    relay.end()
    for ask in callers.keys.sorted() {
      guard case .process(let answer) = callers.removeValue(forKey: ask) else { continue }
      answer(.refused(.stopping(retryAfter: .seconds(1))))
    }
  }

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    turn(on: hub) { $0.hand(event, on: hub) }
  }

  /// Lets `body` work on the parts, then carries on what follows from it.
  mutating func turn(on hub: SocketHub, _ body: (inout BackendHandler) -> Void) {
    body(&self)
    settle(on: hub)
    let deadlines = [shop.deadline, relay.deadline, assistants.deadline]
    hub.wake(at: deadlines.compactMap(\.self).min())
    guard shop.hasFinished, relay.hasFinished else { return }
    whenFinished?()
    whenFinished = nil
  }

  /// Every open socket, whoever owns it.
  var sockets: [LinkServerCore.ConnectionID] {
    (Array(shop.listeners.keys) + relay.phones.keys).sorted()
  }

  private mutating func hand(_ event: SocketEvent, on hub: SocketHub) {
    switch event {
    case .request(_, let head, _), .upgrade(_, let head):
      switch Part(path: head.wholePath) {
      case .shop:
        if head.wholePath == ShopRoute.metrics.path {
          shop.otherMetrics = relay.metrics + assistants.metrics
        }
        shop.handle(event, on: hub)
      case .relay: relay.handle(event, on: hub)
      case .assistants: assistants.handle(event, on: hub)
      }
    case .opened(let id), .heard(let id), .text(let id, _), .binary(let id, _), .pong(let id, _),
      .overflow(let id), .drained(let id), .closed(let id, _):
      if relay.owns(id) { relay.handle(event, on: hub) } else { shop.handle(event, on: hub) }
    case .starved, .crowded: shop.handle(event, on: hub)
    case .abandoned, .woke:
      shop.handle(event, on: hub)
      relay.handle(event, on: hub)
      assistants.handle(event, on: hub)
    }
  }

  /// Calls the relay from within the process; `answer` is called once.
  mutating func ask(
    _ ask: RelayAsk, bearer: String?, from address: String, on hub: SocketHub,
    _ answer: @escaping @Sendable (RelayOutcome) -> Void
  ) {
    let hash = bearer.map(RelaySecrets.hash)
    callers[relay.ask(ask, bearer: hash, from: address, on: hub)] = .process(answer)
  }

  /// Carries calls to the relay and outcomes to those who asked, until nothing more follows.
  private mutating func settle(on hub: SocketHub) {
    var isSettled = false
    while !isSettled {
      let errands = assistants.takeErrands()
      for errand in errands { run(errand, on: hub) }
      let outcomes = relay.takeOutcomes()
      for (ask, outcome) in outcomes { bring(outcome, of: ask, on: hub) }
      isSettled = errands.isEmpty && outcomes.isEmpty
    }
  }

  private mutating func run(_ errand: MCPHandler.Errand, on hub: SocketHub) {
    switch errand {
    case .ask(let id, let ask, let bearer, let address):
      let name = relay.ask(ask, bearer: bearer, from: address, on: hub)
      callers[name] = .assistant(id)
      asked[id] = name
    case .abandon(let id):
      guard let name = asked.removeValue(forKey: id) else { return }
      callers[name] = nil
      relay.abandon(name, on: hub)
    }
  }

  private mutating func bring(_ outcome: RelayOutcome, of ask: AskID, on hub: SocketHub) {
    switch callers.removeValue(forKey: ask) {
    case .process(let answer): answer(outcome)
    case .assistant(let id):
      asked[id] = nil
      assistants.conclude(id, outcome, on: hub)
    case nil: break
    }
  }
}
