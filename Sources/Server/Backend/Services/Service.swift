import HoldfastCore
import HoldfastDriver
import HoldfastOperators
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets

/// A service of the backend: its routes, rules and store, and the translation between them.
///
/// A service only translates. `read` converts an event into an input of the rules, and `perform`
/// converts an effect into calls of the context. The runner does everything else, in the same way
/// for every service: it tracks requests and sockets, writes to the store, logs, sets alarms and
/// drains.
protocol Service: Sendable {
  associatedtype Rules: ServerRules
  associatedtype Route: ServiceRoute
  /// The type of the store. It is `Void` if the service has no store.
  associatedtype Store: Sendable
  /// A change for the store.
  associatedtype Write: Sendable = Never

  /// Whether only one node of several runs the service. The others answer 503 on its routes.
  static var runsAtOneNode: Bool { get }

  /// The name of the service in metrics.
  static var metricsName: String { get }

  /// Returns the paths of the databases of the service, if they are files.
  static func databases(_ configuration: BackendConfiguration) -> [String]

  /// Returns the maximum number of open sockets for a configuration.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int

  /// Reads the files of the service that exist, and creates none.
  ///
  /// - Throws: The error with which `open` would fail.
  static func checkFiles(of configuration: BackendConfiguration) throws(BackendError)

  /// Opens the store and creates the rules.
  ///
  /// - Throws: `.store` if the store cannot be opened.
  static func open(_ setup: BackendSetup) async throws(BackendError) -> Self

  /// The port through which the store is checked and closed; `nil` if there is no store.
  var port: (any HoldfastPorts.SuspendableStore)? { get }

  var rules: Rules { get set }

  var store: Store { get }

  /// The first input of the rules, if any.
  var first: Rules.Input? { get }

  /// Converts an event into an input. Returns `nil` if there is none, or if the event was already
  /// answered through `context`.
  mutating func read(
    _ event: ServiceEvent<Route>, _ context: inout ServiceContext<Self>
  ) -> Rules.Input?

  /// Carries out an effect.
  mutating func perform(_ effect: Rules.Effect, _ context: inout ServiceContext<Self>)

  /// Makes the changes durable in order. Returns the result of each change.
  static func commit(_ writes: [Write], to store: Store) async -> [Stored<Rules.Input>]

  /// Passes an input to the rules and carries out the resulting effects.
  ///
  /// This method is a requirement so that the compiler generates a specialized version for each
  /// service.
  mutating func feed(_ input: Rules.Input, _ context: inout ServiceContext<Self>)

  /// Calls the rules when their deadline is reached.
  mutating func tick(_ context: inout ServiceContext<Self>)

  /// Returns what the operator's backend must allow before the rules get an input; `nil` for nothing.
  ///
  /// - Parameter fresh: Returns a random ID.
  func guarded(_ input: Rules.Input, fresh: () -> UUID128) -> HookRequest?

  /// Returns an input as it is after the operator's backend has allowed it.
  ///
  /// - Parameter id: The ID of a message, as the operator's backend knows it.
  func allowed(_ input: Rules.Input, as id: UUID128?, wall: Timestamp) -> Rules.Input

  /// The times of the commits that do not go through `commit`; `nil` if there are none.
  var commitTimes: CommitTimes? { get }

  /// Notifies waiting callers that the backend has stopped.
  mutating func end()

  /// Returns the kind under which operators see an open socket, or a request that waits for its
  /// response; `nil` if they do not see it.
  static func kind(ofSocket isSocket: Bool) -> AdminConnection.Kind?

  /// Returns the phone of a socket and the phone's user; `nil` if no phone is known.
  func owner(of socket: ConnectionID) -> (phone: String, user: String?)?

  /// Closes the store.
  func close() async
}

/// The result of a change to a store or a query of a store, as an input for the rules.
struct Stored<Input: Sendable>: Sendable {
  var input: Input
  /// The failure to log, if any.
  var failure: StoreFailure?
  /// The file that a response to this input may send.
  var file: FileBody?
}

/// A route of a service.
protocol ServiceRoute: Sendable {
  /// Creates the route for a percent-decoded path. Returns `nil` if the service has no such route.
  init?(path: String)
  /// The route's name in logs and metrics.
  var name: String { get }
  /// Whether an upgrade opens a socket. Otherwise, it is handled like a plain request.
  var opensSocket: Bool { get }
  /// The limits of the route's sockets, where they differ from the backend's limits.
  var bounds: SocketBounds { get }
  /// Whether the rules handle compressed bodies. Otherwise, only bodies without a content coding
  /// are accepted.
  var takesCompressed: Bool { get }
  /// Whether the rules handle HEAD themselves. Otherwise a HEAD request is read as GET, and the
  /// sockets leave out the body of the response.
  var takesHead: Bool { get }
  /// The size limits of request bodies in bytes, by path, where they differ from the backend's
  /// limit.
  static var maxBodyBytes: [String: Int] { get }
  /// The paths whose requests are announced to the service before their bodies are complete.
  static var announced: Set<String> { get }
}

extension ServiceRoute {
  var opensSocket: Bool { false }
  var bounds: SocketBounds { SocketBounds() }
  var takesCompressed: Bool { false }
  var takesHead: Bool { false }
  static var maxBodyBytes: [String: Int] { [:] }
  static var announced: Set<String> { [] }
}

/// An event of the sockets that concerns a service.
enum ServiceEvent<Route: ServiceRoute> {
  case request(RequestID, Route, HTTPRequestHead, body: [UInt8])
  /// The head of a request on an announced route. `request` or `cut` follows with the same ID.
  case announced(RequestID, Route, HTTPRequestHead)
  /// A request that was announced but ended before its body was complete, with the bytes received.
  case cut(RequestID, Route, HTTPRequestHead, body: [UInt8])
  /// An upgrade request on a route that opens sockets.
  case upgrade(ConnectionID, Route, HTTPRequestHead)
  /// A client that left before its request was fully answered.
  case abandoned(RequestID)
  /// The arrival of bytes on a socket. The event that the bytes contain follows.
  case received(ConnectionID)
  case text(ConnectionID, [UInt8])
  case binary(ConnectionID)
  /// A socket whose send queue has exceeded its limit.
  case overflow(ConnectionID)
  /// A socket that has sent all queued bytes, after it was blocked or `noticeDrain` was called.
  case drained(ConnectionID)
  /// The end of a socket or of an unanswered upgrade, with its close code.
  case closed(ConnectionID, code: UInt16)
}

extension Service {
  static var runsAtOneNode: Bool { false }

  static var metricsName: String { "\(Self.self)" }

  static func databases(_ configuration: BackendConfiguration) -> [String] { [] }

  static func checkFiles(of configuration: BackendConfiguration) throws(BackendError) {}

  var first: Rules.Input? { nil }

  func guarded(_ input: Rules.Input, fresh: () -> UUID128) -> HookRequest? { nil }

  func allowed(_ input: Rules.Input, as id: UUID128?, wall: Timestamp) -> Rules.Input { input }

  var commitTimes: CommitTimes? { nil }

  mutating func end() {}

  static func kind(ofSocket isSocket: Bool) -> AdminConnection.Kind? { nil }

  func owner(of socket: ConnectionID) -> (phone: String, user: String?)? { nil }

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
  func close() async { await port?.close() }

  /// Checks the store. Returns the reason why the store is unavailable; `nil` if it is available.
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
  var port: (any HoldfastPorts.SuspendableStore)? { nil }
}

extension Service where Write == Never {
  static func commit(_ writes: [Never], to store: Store) async -> [Stored<Rules.Input>] { [] }
}

extension HTTPRequestHead {
  /// The percent-decoded path. It is empty, and thus matches no route, if a segment contains an
  /// encoded slash.
  var wholePath: String {
    guard !segments.contains(where: { $0.contains("/") }) else { return "" }
    return "/" + segments.joined(separator: "/")
  }

  /// Whether the body has no content coding (RFC 9110 section 8.4).
  var isPlain: Bool {
    all("content-encoding").allSatisfy { ["", "identity"].contains($0.lowercased()) }
  }

  /// The token in `Authorization: Bearer` (RFC 6750 section 2.1); `nil` if there is none.
  var bearer: String? {
    guard let field = first("authorization") else { return nil }
    let parts = field.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }
}
