public import HoldfastCore
public import HoldfastPorts
import Synchronization

/// A network in memory whose servers are controlled by the test.
///
/// It keeps the promises of `SocketDialer` and `HTTPClient`.
///
///     let network = FakeNetwork(clock: clock)
///     let socket = try await network.nextSocket()    // the client dialed
///     await socket.accept()                          // or reject, fail; or leave it hanging
///     await socket.drop()
///     let again = try await network.nextSocket(advancing: clock).accepted()
///
/// Time-outs use the given clock. Every wait ends after a limit in real time with a `WaitFailure`.
public final class FakeNetwork: SocketDialer, HTTPClient {
  /// The requested sockets that no rule of `serve(sockets:)` handles.
  public let sockets: Mailbox<FakeSocket>
  /// The HTTP requests that no rule of `serve(requests:)` handles.
  public let exchanges: Mailbox<FakeExchange>
  let activity: NetworkActivity
  private let clock: any LinkClock
  private let rules = Mutex(Rules())

  private struct Rules {
    var socket: (@Sendable (FakeSocket) async -> Void)?
    var request: (@Sendable (HTTPCall) async -> Result<HTTPAnswer, LinkFailure>)?
  }

  public init(clock: any LinkClock) {
    let activity = NetworkActivity(clock: clock as? TestClock)
    (self.clock, self.activity) = (clock, activity)
    sockets = Mailbox(of: "the client's next socket") { activity.hints }
    exchanges = Mailbox(of: "the client's next HTTP request") { activity.hints }
  }

  /// Returns the next HTTP request of the client.
  ///
  /// - Parameter limit: The maximum real time of the wait.
  public func nextExchange(
    within limit: Duration = WaitFailure.usualLimit
  ) async throws(WaitFailure) -> FakeExchange {
    try await exchanges.next(within: limit)
  }

  /// Makes `rule` control each new socket, in a separate task. `nil` restores delivery to
  /// `sockets`.
  public func serve(sockets rule: (@Sendable (FakeSocket) async -> Void)?) {
    rules.withLock { $0.socket = rule }
  }

  /// Makes `rule` answer each new request. `nil` restores delivery to `exchanges`.
  public func serve(
    requests rule: (@Sendable (HTTPCall) async -> Result<HTTPAnswer, LinkFailure>)?
  ) {
    rules.withLock { $0.request = rule }
  }

  /// Opens a socket. The test or the rule controls the server's end.
  public func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle {
    let deadline = clock.now.advanced(by: request.openTimeout)
    let socket = FakeSocket(request: request, activity: activity, deliver: deliver)
    activity.opened(socket)
    if let rule = rules.withLock(\.socket) {
      Task { await rule(socket) }
    } else {
      sockets.put(socket)
    }
    // The time-out begins last: `nextSocket(advancing:)` must find the socket before the deadline.
    socket.startTimer(until: deadline, on: clock)
    return FakeSocketHandle(socket: socket)
  }

  /// Does nothing, since each request of a fake network uses its own connection.
  public func forgetConnections() async {}

  public func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    activity.requestBegan()
    defer { activity.requestEnded() }
    let exchange = FakeExchange(request: request)
    let rule = rules.withLock(\.request)
    // A test that has the exchange may advance the clock at once.
    let deadline = clock.now.advanced(by: request.timeout)
    if rule == nil { exchanges.put(exchange) }
    let answer = await withTaskGroup { [clock] group in
      if let rule {
        group.addTask { exchange.answer(await rule(request)) }
      }
      group.addTask {
        guard (try? await clock.wait(until: deadline)) != nil else { return }
        exchange.answer(.failure(.timeout(.response)))
      }
      let answer = await exchange.answered()
      group.cancelAll()
      return answer
    }
    var response = try (answer ?? .failure(.local(detail: "cancelled"))).get()
    guard response.body.count <= request.maxBodyBytes else {
      throw .protocolError(detail: "the body has over \(request.maxBodyBytes) bytes")
    }
    response.headers = lowercased(response.headers)
    return response
  }
}

/// An HTTP request that waits for a response from the test. Without a response, it times out.
public final class FakeExchange: FarExchange {
  /// The client's request.
  public let request: HTTPCall
  private let answers = Mailbox<Result<HTTPAnswer, LinkFailure>>()

  init(request: HTTPCall) {
    self.request = request
  }

  /// Answers the request. Only the first call has an effect.
  public func answer(_ answer: Result<HTTPAnswer, LinkFailure>) {
    answers.put(answer)
    answers.close()
  }

  /// Answers the request with a response.
  public func respond(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
    answer(.success(HTTPAnswer(status: status, headers: headers, body: body)))
  }

  public var received: (method: String, headers: [String: String], body: [UInt8]) {
    var headers: [String: String] = [:]
    for (name, value) in request.headers { headers[name.lowercased()] = value }
    return (request.method, headers, request.body)
  }

  public func drop() async {
    answer(.failure(.ended))
  }

  func answered() async -> Result<HTTPAnswer, LinkFailure>? {
    await answers.next()
  }
}

/// Returns the headers with lower-case names.
///
/// If two names become equal, the one that sorts last is kept.
func lowercased(_ headers: [String: String]) -> [String: String] {
  var result: [String: String] = [:]
  for (name, value) in headers.sorted(by: { $0 < $1 }) { result[name.lowercased()] = value }
  return result
}
