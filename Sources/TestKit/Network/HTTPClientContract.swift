import HoldfastCore
public import HoldfastPorts

/// The server's end of one HTTP exchange, controlled by a test.
public protocol FarExchange: Sendable {
  /// The received request: method, headers with lower-case names, and body.
  var received: (method: String, headers: [String: String], body: [UInt8]) { get }
  /// Sends the complete response.
  func respond(status: Int, headers: [String: String], body: [UInt8]) async
  /// Ends the connection without a response.
  func drop() async
}

/// Checks the promises of `HTTPClient`, for any implementation and any test library.
///
/// - Throws: `ContractViolation` for the first broken promise, or an error of the server.
public func httpClientContract(
  _ client: any HTTPClient, server: ContractServer<any FarExchange>
) async throws {
  let checks: [@Sendable (ClientCheck) async throws -> Void] = [
    carriesTheRequest, givesAnyAnswer, limitsTheBody, reportsAClosedPort, reportsALostAnswer,
    givesUpInTime, endsWhenCancelled,
  ]
  for check in checks {
    try await check(ClientCheck(client: client, server: server))
  }
}

private struct ClientCheck: Sendable {
  static let limit = 1_000
  /// The time-out of requests.
  ///
  /// It is long, because a slow response on a busy machine breaks no promise. Only requests that
  /// must time out use a shorter one.
  static let timeLimit = WaitFailure.usualLimit
  let client: any HTTPClient
  let server: ContractServer<any FarExchange>

  func request(
    _ method: String = "GET", url: String? = nil, body: [UInt8] = [],
    timeout: Duration = timeLimit
  ) -> HTTPCall {
    HTTPCall(
      method: method, url: url ?? server.url, headers: [("X-Contract", "Yes")], body: body,
      timeout: timeout, maxBodyBytes: Self.limit)
  }

  func failure(
    of request: HTTPCall, _ promise: String,
    far: @escaping @Sendable () async throws -> Void
  ) async throws -> LinkFailure {
    let answer = Task { [client] () async -> Result<HTTPAnswer, LinkFailure> in
      do throws(LinkFailure) {
        return .success(try await client.send(request))
      } catch {
        return .failure(error)
      }
    }
    try await far()
    switch await answer.value {
    case .success(let response): throw ContractViolation("\(promise): found \(response.status)")
    case .failure(let failure): return failure
    }
  }
}

private func carriesTheRequest(_ check: ClientCheck) async throws {
  let body = [UInt8](repeating: 7, count: ClientCheck.limit)
  async let response = check.client.send(check.request("POST", body: body))
  let far = try await check.server.next()
  let received = far.received
  try ContractViolation.unless(received.method, is: "POST", "the method reaches the server")
  try ContractViolation.unless(received.body, is: body, "the body reaches the server whole")
  try ContractViolation.unless(
    received.headers["x-contract"], is: "Yes", "the headers reach the server")
  await far.respond(status: 200, headers: [:], body: [])
  _ = try await response
}

private func givesAnyAnswer(_ check: ClientCheck) async throws {
  for status in [200, 201, 302, 404, 503] {
    async let response = check.client.send(check.request())
    let far = try await check.server.next()
    await far.respond(status: status, headers: ["X-Contract": "Yes"], body: [1, 2, 3])
    let found = try await response
    try ContractViolation.unless(found.status, is: status, "an answer of any status is given")
    try ContractViolation.unless(found.body, is: [1, 2, 3], "the body is given whole")
    try ContractViolation.unless(
      found.headers["x-contract"], is: "Yes", "headers are given, names in lower case")
  }
}

private func limitsTheBody(_ check: ClientCheck) async throws {
  let whole = [UInt8](repeating: 1, count: ClientCheck.limit)
  async let response = check.client.send(check.request())
  try await check.server.next().respond(status: 200, headers: [:], body: whole)
  try ContractViolation.unless(
    try await response.body, is: whole, "a body of the size of the limit is given")
  let found = try await check.failure(of: check.request(), "a longer body is a failure") {
    try await check.server.next().respond(status: 200, headers: [:], body: whole + [1])
  }
  guard case .protocolError = found else {
    throw ContractViolation("a longer body is reported as a protocol error: found \(found)")
  }
}

private func reportsAClosedPort(_ check: ClientCheck) async throws {
  let request = check.request(url: check.server.refusingURL)
  let found = try await check.failure(of: request, "a closed port is a failure") {}
  try ContractViolation.unless(found, is: .refused, "a closed port is reported as refused")
}

private func reportsALostAnswer(_ check: ClientCheck) async throws {
  let found = try await check.failure(of: check.request(), "a lost answer is a failure") {
    try await check.server.next().drop()
  }
  guard [.ended, .reset].contains(found) else {
    throw ContractViolation("a lost answer is reported as ended or reset: found \(found)")
  }
}

private func givesUpInTime(_ check: ClientCheck) async throws {
  let request = check.request(timeout: .seconds(2))
  let found = try await check.failure(of: request, "no answer in time is a failure") {
    _ = try await check.server.next()
    await check.server.pass(request.timeout)
  }
  guard case .timeout = found else {
    throw ContractViolation("no answer in time is reported as a timeout: found \(found)")
  }
}

private func endsWhenCancelled(_ check: ClientCheck) async throws {
  let sending = Task { try await check.client.send(check.request()) }
  let far = try await check.server.next()
  sending.cancel()
  guard case .failure = await sending.result else {
    throw ContractViolation("a cancelled request fails at once")
  }
  await far.drop()
}
