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
    case shop, relay

    /// By the decoded path; what is nobody's is the shop's, which answers 404.
    init(path: String) {
      self = RelayRoute(path: path) == nil ? .shop : .relay
    }
  }

  var shop: ShopHandler
  var relay: RelayHandler
  /// Who called from within the process, and waits for the outcome.
  private var callers: [AskID: @Sendable (RelayOutcome) -> Void] = [:]
  /// Called once when all parts have drained.
  var whenFinished: (@Sendable () -> Void)?

  init(shop: ShopHandler, relay: RelayHandler) {
    self.shop = shop
    self.relay = relay
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
      callers.removeValue(forKey: ask)?(.refused(.stopping(retryAfter: .seconds(1))))
    }
  }

  mutating func handle(_ event: SocketEvent, on hub: SocketHub) {
    turn(on: hub) { $0.hand(event, on: hub) }
  }

  /// Lets `body` work on the parts, then carries on what follows from it.
  mutating func turn(on hub: SocketHub, _ body: (inout BackendHandler) -> Void) {
    body(&self)
    settle(on: hub)
    hub.wake(at: [shop.deadline, relay.deadline].compactMap(\.self).min())
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
        shop.otherMetrics = relay.metrics
        shop.handle(event, on: hub)
      case .relay: relay.handle(event, on: hub)
      }
    case .opened(let id), .heard(let id), .text(let id, _), .binary(let id, _), .pong(let id, _),
      .overflow(let id), .drained(let id), .closed(let id, _):
      if relay.owns(id) { relay.handle(event, on: hub) } else { shop.handle(event, on: hub) }
    case .starved, .crowded: shop.handle(event, on: hub)
    case .abandoned, .woke:
      shop.handle(event, on: hub)
      relay.handle(event, on: hub)
    }
  }

  /// Calls the relay from within the process; `answer` is called once.
  mutating func ask(
    _ ask: RelayAsk, bearer: String?, from address: String, on hub: SocketHub,
    _ answer: @escaping @Sendable (RelayOutcome) -> Void
  ) {
    callers[relay.ask(ask, bearer: bearer, from: address, on: hub)] = answer
  }

  /// Brings outcomes to those who asked.
  private mutating func settle(on hub: SocketHub) {
    for (ask, outcome) in relay.takeOutcomes() {
      callers.removeValue(forKey: ask)?(outcome)
    }
  }
}
