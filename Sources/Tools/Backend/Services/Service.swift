import LinkCore
import LinkProtocols
import LinkRuntime
import LinkServerCore
import ServerSockets

/// A service of the backend: routes, rules, a store, and what connects the three.
///
/// It translates only: `read` turns an event into an input of the rules, `perform` an effect into
/// calls of the desk. Its runner does the rest, the same for every service: it keeps the requests
/// and sockets, writes to the store, logs, sets alarms and drains.
protocol Service: Sendable {
  associatedtype Rules: ServerRules
  associatedtype Route: ServiceRoute
  /// The store, or what stands for it if there is none.
  associatedtype Store: Sendable
  /// One change for the store.
  associatedtype Write: Sendable = Never

  /// The most sockets that it holds at once, by its configuration.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int

  /// Opens the store and makes the rules; throws `.store` if that cannot be done.
  static func open(_ setup: BackendSetup) async throws(BackendError) -> Self

  /// The port of the store, for its check and its end; `nil` if there is none.
  var port: (any LinkRuntime.Store)? { get }

  var rules: Rules { get set }

  var store: Store { get }

  /// The first input of the rules, if there is one.
  var first: Rules.Input? { get }

  /// Turns an event into an input; `nil` if it means nothing, or was answered at the desk.
  mutating func read(
    _ event: ServiceEvent<Route>, _ desk: inout ServiceDesk<Self>
  ) -> Rules.Input?

  /// Carries out an effect.
  mutating func perform(_ effect: Rules.Effect, _ desk: inout ServiceDesk<Self>)

  /// Makes changes durable, in this order, and returns what became of each.
  static func commit(_ writes: [Write], to store: Store) async -> [Stored<Rules.Input>]

  /// Hands an input to the rules and carries out the effects.
  ///
  /// A requirement, so that each service has a copy that is specialised for its types.
  mutating func feed(_ input: Rules.Input, _ desk: inout ServiceDesk<Self>)

  /// Lets the rules do what is due.
  mutating func tick(_ desk: inout ServiceDesk<Self>)

  /// Tells callers that wait that the backend has stopped.
  mutating func end()
}

/// What became of a change or a question to a store, and the input that says so to the rules.
struct Stored<Input: Sendable>: Sendable {
  var input: Input
  /// Logged if there is one.
  var failure: StoreFailure?
}

/// A route of a service.
protocol ServiceRoute: Sendable {
  /// The route of a percent-decoded path; `nil` if the service has none there.
  init?(path: String)
  /// The name in logs and metrics.
  var name: String { get }
  /// Whether an upgrade opens a socket here; elsewhere it is handled as a plain request.
  var opensSocket: Bool { get }
  /// The bounds of its sockets, where they differ from the backend's.
  var bounds: SocketBounds { get }
  /// Whether its rules look at the content coding of a body; elsewhere only plain bodies are taken.
  var takesCompressed: Bool { get }
  /// The longest bodies in bytes, by path, where they differ from the backend's bound.
  static var maxBodyBytes: [String: Int] { get }
  /// The paths whose requests are told before their bodies are whole.
  static var announced: Set<String> { get }
}

extension ServiceRoute {
  var opensSocket: Bool { false }
  var bounds: SocketBounds { SocketBounds() }
  var takesCompressed: Bool { false }
  static var maxBodyBytes: [String: Int] { [:] }
  static var announced: Set<String> { [] }
}

/// What the sockets tell a service.
enum ServiceEvent<Route: ServiceRoute> {
  case request(RequestID, Route, HTTPRequestHead, body: [UInt8])
  /// The head of a request on a route that is announced; `request` or `cut` of this name follows.
  case announced(RequestID, Route, HTTPRequestHead)
  /// An announced request ended before its body was whole; so much of it came.
  case cut(RequestID, Route, HTTPRequestHead, body: [UInt8])
  /// An upgrade on a route that opens sockets.
  case upgrade(ConnectionID, Route, HTTPRequestHead)
  /// The client left before its request was answered to the end.
  case abandoned(RequestID)
  /// Bytes came on a socket, ahead of what they mean.
  case heard(ConnectionID)
  case text(ConnectionID, [UInt8])
  case binary(ConnectionID)
  /// The send queue of a socket passed its bound.
  case overflow(ConnectionID)
  /// A socket has taken all that was queued, after it had to wait or `noticeDrain` was called.
  case drained(ConnectionID)
  /// A socket, or an upgrade that was not answered, is gone, with its close code.
  case closed(ConnectionID, code: UInt16)
}

extension Service {
  var first: Rules.Input? { nil }

  mutating func end() {}

  mutating func feed(_ input: Rules.Input, _ desk: inout ServiceDesk<Self>) {
    let effects = rules.handle(input, at: desk.now)
    checkInvariants()
    carryOut(effects, &desk)
  }

  mutating func tick(_ desk: inout ServiceDesk<Self>) {
    let effects = rules.tick(at: desk.now)
    checkInvariants()
    carryOut(effects, &desk)
  }

  /// Ends the process if the last step of the rules broke an invariant.
  private mutating func checkInvariants() {
    if let name = rules.brokenInvariants(.ofDrivers).first {
      BrokenInvariant.stop(name, in: "\(Rules.self)")
    }
  }

  private mutating func carryOut(
    _ effects: [Rules.Effect], _ desk: inout ServiceDesk<Self>
  ) {
    for effect in effects { perform(effect, &desk) }
    for input in desk.takeInputs() { feed(input, &desk) }
  }
}

extension Service {
  /// Closes the store.
  func close() async { await port?.close() }

  /// Returns the reason for which the store cannot serve now; `nil` if it can.
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
  /// The percent-decoded path; empty, which is no route, if a segment hides a slash.
  var wholePath: String {
    guard !segments.contains(where: { $0.contains("/") }) else { return "" }
    return "/" + segments.joined(separator: "/")
  }

  /// Whether the body is in no content coding (RFC 9110 section 8.4).
  var isPlain: Bool {
    all("content-encoding").allSatisfy { ["", "identity"].contains($0.lowercased()) }
  }

  /// The token of `Authorization: Bearer`, if the request carries one (RFC 6750 section 2.1).
  var bearer: String? {
    guard let field = first("authorization") else { return nil }
    let words = field.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
    return String(words[1])
  }
}
