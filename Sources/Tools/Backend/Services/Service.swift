import LinkCore
import LinkProtocols
import LinkRuntime
import LinkServerCore
import ServerSockets

/// A service of the backend: its routes, rules and store, and the translation between them.
///
/// A service only translates: `read` turns an event into an input of the rules, and `perform` turns
/// an effect into calls of the desk. Everything else is done by its runner, which is the same for
/// every service. The runner tracks requests and sockets, writes to the store, logs, sets alarms
/// and drains.
protocol Service: Sendable {
  associatedtype Rules: ServerRules
  associatedtype Route: ServiceRoute
  /// The type of the store, or a placeholder if there is none.
  associatedtype Store: Sendable
  /// A change for the store.
  associatedtype Write: Sendable = Never

  /// Returns the bound on the open sockets, from the configuration.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int

  /// Opens the store and creates the rules; throws `.store` if the store cannot be opened.
  static func open(_ setup: BackendSetup) async throws(BackendError) -> Self

  /// The port of the store, used to check and to close it; `nil` if there is none.
  var port: (any LinkRuntime.Store)? { get }

  var rules: Rules { get set }

  var store: Store { get }

  /// The first input of the rules, if any.
  var first: Rules.Input? { get }

  /// Turns an event into an input; returns `nil` if there is none or `context` has answered.
  mutating func read(
    _ event: ServiceEvent<Route>, _ context: inout ServiceContext<Self>
  ) -> Rules.Input?

  /// Carries out an effect.
  mutating func perform(_ effect: Rules.Effect, _ context: inout ServiceContext<Self>)

  /// Makes changes durable in this order and returns the result of each.
  static func commit(_ writes: [Write], to store: Store) async -> [Stored<Rules.Input>]

  /// Passes an input to the rules and carries out the effects.
  ///
  /// This method is a requirement so that each service gets a copy specialized for its types.
  mutating func feed(_ input: Rules.Input, _ context: inout ServiceContext<Self>)

  /// Calls the rules at their deadline.
  mutating func tick(_ context: inout ServiceContext<Self>)

  /// Tells waiting callers that the backend has stopped.
  mutating func end()
}

/// The result of a change or a query of a store, as an input for the rules.
struct Stored<Input: Sendable>: Sendable {
  var input: Input
  /// The failure to log, if any.
  var failure: StoreFailure?
}

/// A route of a service.
protocol ServiceRoute: Sendable {
  /// Creates the route of a percent-decoded path; returns `nil` if the service has none there.
  init?(path: String)
  /// The name in logs and metrics.
  var name: String { get }
  /// Whether an upgrade opens a socket; otherwise it is handled as a plain request.
  var opensSocket: Bool { get }
  /// The bounds of the route's sockets, where they differ from the backend's.
  var bounds: SocketBounds { get }
  /// Whether the rules handle content codings of bodies; otherwise only plain bodies are accepted.
  var takesCompressed: Bool { get }
  /// The bounds of bodies in bytes, by path, where they differ from the backend's.
  static var maxBodyBytes: [String: Int] { get }
  /// The paths whose requests are announced before their bodies are complete.
  static var announced: Set<String> { get }
}

extension ServiceRoute {
  var opensSocket: Bool { false }
  var bounds: SocketBounds { SocketBounds() }
  var takesCompressed: Bool { false }
  static var maxBodyBytes: [String: Int] { [:] }
  static var announced: Set<String> { [] }
}

/// An event of the sockets for a service.
enum ServiceEvent<Route: ServiceRoute> {
  case request(RequestID, Route, HTTPRequestHead, body: [UInt8])
  /// The head of a request on an announced route; `request` or `cut` with the same id follows.
  case announced(RequestID, Route, HTTPRequestHead)
  /// An announced request that ended before its body was complete, with the bytes received.
  case cut(RequestID, Route, HTTPRequestHead, body: [UInt8])
  /// An upgrade on a route that opens sockets.
  case upgrade(ConnectionID, Route, HTTPRequestHead)
  /// The client left before its request was fully answered.
  case abandoned(RequestID)
  /// Bytes arrived on a socket; the event that they contain follows.
  case received(ConnectionID)
  case text(ConnectionID, [UInt8])
  case binary(ConnectionID)
  /// The send queue of a socket exceeded its bound.
  case overflow(ConnectionID)
  /// A socket has sent all queued bytes, after it had to wait or `noticeDrain` was called.
  case drained(ConnectionID)
  /// A socket or an unanswered upgrade has ended, with its close code.
  case closed(ConnectionID, code: UInt16)
}

extension Service {
  var first: Rules.Input? { nil }

  mutating func end() {}

  mutating func feed(_ input: Rules.Input, _ context: inout ServiceContext<Self>) {
    let effects = rules.handle(input, at: context.now)
    checkInvariants()
    carryOut(effects, &context)
  }

  mutating func tick(_ context: inout ServiceContext<Self>) {
    let effects = rules.tick(at: context.now)
    checkInvariants()
    carryOut(effects, &context)
  }

  /// Ends the process if the last step of the rules broke an invariant.
  private mutating func checkInvariants() {
    if let name = rules.brokenInvariants(.ofDrivers).first {
      BrokenInvariant.stop(name, in: "\(Rules.self)")
    }
  }

  private mutating func carryOut(
    _ effects: [Rules.Effect], _ context: inout ServiceContext<Self>
  ) {
    for effect in effects { perform(effect, &context) }
    for input in context.takeInputs() { feed(input, &context) }
  }
}

extension Service {
  /// Closes the store.
  func close() async { await port?.close() }

  /// Returns the reason why the store is unavailable; `nil` if it is available.
  func storeFailure() async -> StoreFailure? {
    do throws(StoreFailure) {
      try await port?.check()
      return nil
    } catch {
      return error
    }
  }
}

extension Service where Store == Void {
  var store: Void { () }
  var port: (any LinkRuntime.Store)? { nil }
}

extension Service where Write == Never {
  static func commit(_ writes: [Never], to store: Store) async -> [Stored<Rules.Input>] { [] }
}

extension HTTPRequestHead {
  /// The percent-decoded path; empty, which is not a route, if a segment contains an encoded slash.
  var wholePath: String {
    guard !segments.contains(where: { $0.contains("/") }) else { return "" }
    return "/" + segments.joined(separator: "/")
  }

  /// Whether the body has no content coding (RFC 9110 section 8.4).
  var isPlain: Bool {
    all("content-encoding").allSatisfy { ["", "identity"].contains($0.lowercased()) }
  }

  /// The token of `Authorization: Bearer`, if the request has one (RFC 6750 section 2.1).
  var bearer: String? {
    guard let field = first("authorization") else { return nil }
    let parts = field.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }
}
