import HoldfastCore
public import HoldfastPorts

/// The server that a contract suite for a dialer or an HTTP client uses.
public struct ContractServer<Far: Sendable>: Sendable {
  /// The URL whose connections `next` returns.
  public var url: String
  /// A URL on which nothing listens.
  public var refusingURL: String
  /// Returns the next exchange opened at `url`, or the next socket, before its upgrade is answered.
  public var next: @Sendable () async throws -> Far
  /// Lets time pass. It advances a test clock, or does nothing if time passes by itself.
  public var pass: @Sendable (Duration) async -> Void

  /// Creates a server from its addresses and functions.
  public init(
    url: String, refusingURL: String, next: @escaping @Sendable () async throws -> Far,
    pass: @escaping @Sendable (Duration) async -> Void = { _ in }
  ) {
    self.url = url
    self.refusingURL = refusingURL
    self.next = next
    self.pass = pass
  }
}

/// Checks the promises of `SocketDialer`, for any implementation and any test library.
///
/// - Throws: `ContractViolation` for the first broken promise, or an error of the server.
public func socketDialerContract(
  _ dialer: any SocketDialer, server: ContractServer<any FarSocket>
) async throws {
  let checks: [@Sendable (DialerCheck) async throws -> Void] = [
    opensWithHeaders, reportsARefusal, reportsARefusedUpgrade, timesOut, carriesText,
    carriesBinary, waitsForASlowReader, handsOverTurns, matchesPongs, reportsPings,
    dropsWhatIsTooLong,
    reportsTheCloseCode, reportsALostConnection, closesWithACode, staysSilentAfterClose,
    closesFromWithinDeliver, closesWhenDropped,
  ]
  for check in checks {
    try await check(DialerCheck(dialer: dialer, server: server))
  }
}

/// A dialer and the server to which it connects.
struct DialerCheck: Sendable {
  /// A client's handle and the server's end of its socket, after the upgrade.
  struct Open {
    let handle: any SocketHandle
    let far: any FarSocket
    let events: Mailbox<SocketEvent>
  }

  static let limit = 1_000
  /// The time-out of requests.
  ///
  /// It is long, because a slow response on a busy machine breaks no promise. Only requests that
  /// must time out use a shorter one.
  static let timeLimit = WaitFailure.usualLimit
  let dialer: any SocketDialer
  let server: ContractServer<any FarSocket>

  func request(_ url: String? = nil, openTimeout: Duration = timeLimit) -> SocketRequest {
    SocketRequest(
      url: url ?? server.url, openTimeout: openTimeout, maxMessageBytes: Self.limit)
  }

  func open() async throws -> Open {
    let events = Mailbox<SocketEvent>()
    let handle = await dialer.open(request()) { event in events.put(event) }
    let far = try await server.next()
    await far.accept(headers: [:])
    guard case .opened? = await events.next() else {
      throw ContractViolation("an accepted upgrade is reported as opened, first of all")
    }
    return Open(handle: handle, far: far, events: events)
  }

  func failure(in events: Mailbox<SocketEvent>, _ promise: String) async throws -> LinkFailure {
    let event = await events.next()
    guard case .failed(let failure)? = event else {
      throw ContractViolation("\(promise): found \(String(describing: event))")
    }
    return failure
  }
}

private func opensWithHeaders(_ check: DialerCheck) async throws {
  let events = Mailbox<SocketEvent>()
  let handle = await check.dialer.open(check.request()) { event in events.put(event) }
  let far = try await check.server.next()
  await far.accept(headers: ["X-Contract": "Yes"])
  guard case .opened(let headers)? = await events.next() else {
    throw ContractViolation("an accepted upgrade is reported as opened, first of all")
  }
  try ContractViolation.unless(
    headers["x-contract"], is: "Yes", "the server's headers are reported, names in lower case")
  await handle.close(code: 1000, reason: "")
}

private func reportsARefusal(_ check: DialerCheck) async throws {
  let events = Mailbox<SocketEvent>()
  let url = check.server.refusingURL
  let handle = await check.dialer.open(check.request(url)) { event in events.put(event) }
  let found = try await check.failure(in: events, "a closed port is a failure")
  try ContractViolation.unless(found, is: .refused, "a closed port is reported as refused")
  try ContractViolation.unless(
    await handle.send(text: [1]), is: .closed, "a failed socket refuses messages")
}

private func reportsARefusedUpgrade(_ check: DialerCheck) async throws {
  let events = Mailbox<SocketEvent>()
  let handle = await check.dialer.open(check.request()) { event in events.put(event) }
  try await check.server.next().reject(status: 403)
  let found = try await check.failure(in: events, "a refused upgrade is a failure")
  guard case .http(status: 403, retryAfter: nil, detail: _) = found else {
    throw ContractViolation("a refused upgrade is reported with its HTTP status: found \(found)")
  }
  await handle.close(code: 1000, reason: "")
}

private func timesOut(_ check: DialerCheck) async throws {
  let events = Mailbox<SocketEvent>()
  let request = check.request(openTimeout: .seconds(2))
  let handle = await check.dialer.open(request) { event in events.put(event) }
  let far = try await check.server.next()
  await check.server.pass(request.openTimeout)
  let found = try await check.failure(in: events, "an upgrade without an answer fails in time")
  guard case .timeout = found else {
    throw ContractViolation("an upgrade without an answer is reported as a timeout: found \(found)")
  }
  await far.drop()
  await handle.close(code: 1000, reason: "")
}

private func carriesText(_ check: DialerCheck) async throws {
  let open = try await check.open()
  let texts = ["", "a", "żółć 🦭", String(repeating: "x", count: DialerCheck.limit)]
  for text in texts.map({ Array($0.utf8) }) {
    await open.far.send(text: text)
    try ContractViolation.unless(
      await open.events.next(), is: .text(text), "a text message arrives whole")
    try ContractViolation.unless(
      await open.handle.send(text: text), is: .queued, "an open socket takes messages")
    try ContractViolation.unless(
      await open.far.received(), is: .text(text), "a sent text message arrives whole")
    try ContractViolation.unless(
      await open.handle.send(binary: text), is: .queued, "an open socket takes binary messages")
    try ContractViolation.unless(
      await open.far.received(), is: .binary(text), "a sent binary message arrives whole")
  }
  await open.handle.close(code: 1000, reason: "")
}

private func carriesBinary(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.far.send(binary: [0, 255, 128])
  try ContractViolation.unless(
    await open.events.next(), is: .binary([0, 255, 128]), "a binary message arrives whole")
  await open.handle.close(code: 1000, reason: "")
}

private func waitsForASlowReader(_ check: DialerCheck) async throws {
  let events = Mailbox<SocketEvent>()
  let inside = Mailbox<Void>()
  let overlaps = Mailbox<Void>()
  let handle = await check.dialer.open(check.request()) { event in
    if inside.count > 0 { overlaps.put(()) }
    inside.put(())
    for _ in 0..<20 { await Task.yield() }
    _ = inside.takeAll()
    events.put(event)
  }
  let far = try await check.server.next()
  await far.accept(headers: [:])
  let texts = (0..<50).map { SocketEvent.text(Array("\($0)".utf8)) }
  for number in texts.indices { await far.send(text: Array("\(number)".utf8)) }
  try ContractViolation.unless(
    Array(await events.next(51).dropFirst()), is: texts, "messages arrive in order")
  try ContractViolation.unless(
    overlaps.count, is: 0, "an event is delivered after the one before has been taken")
  await handle.close(code: 1000, reason: "")
}

private func handsOverTurns(_ check: DialerCheck) async throws {
  let events = Mailbox<SocketEvent>()
  let inside = Mailbox<Void>()
  let broken = Mailbox<Void>()
  let handle = await check.dialer.openInTurns(check.request()) { turn in
    if inside.count > 0 || turn.isEmpty { broken.put(()) }
    inside.put(())
    for _ in 0..<20 { await Task.yield() }
    _ = inside.takeAll()
    for event in turn { events.put(event) }
  }
  let far = try await check.server.next()
  await far.accept(headers: [:])
  let texts = (0..<50).map { SocketEvent.text(Array("\($0)".utf8)) }
  for number in texts.indices { await far.send(text: Array("\(number)".utf8)) }
  try ContractViolation.unless(
    Array(await events.next(51).dropFirst()), is: texts, "messages in turns arrive in order")
  await far.close(code: 4_001, reason: "")
  try ContractViolation.unless(
    await events.next(), is: .failed(.closed(code: 4_001, reason: "")), "the end comes last")
  try ContractViolation.unless(
    broken.count, is: 0, "a turn holds something, and comes after the one before has been taken")
  await handle.close(code: 1000, reason: "")
}

private func matchesPongs(_ check: DialerCheck) async throws {
  let open = try await check.open()
  for id: UInt64 in [0, 7, .max] {
    await open.handle.ping(id: id)
    try ContractViolation.unless(
      await open.events.next(), is: .pong(id: id), "a pong names the ping that it answers")
  }
  await open.handle.close(code: 1000, reason: "")
}

private func reportsPings(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.far.ping()
  try ContractViolation.unless(await open.events.next(), is: .ping, "a ping is reported")
  await open.handle.close(code: 1000, reason: "")
}

private func dropsWhatIsTooLong(_ check: DialerCheck) async throws {
  let open = try await check.open()
  let long = [UInt8](repeating: UInt8(ascii: "x"), count: DialerCheck.limit + 1)
  await open.far.send(text: long)
  try ContractViolation.unless(
    await open.events.next(), is: .oversized(bytes: UInt64(long.count)),
    "a message over the limit is dropped and reported")
  await open.far.send(text: [UInt8(ascii: "y")])
  try ContractViolation.unless(
    await open.events.next(), is: .text([UInt8(ascii: "y")]),
    "the socket stays open after a message over the limit")
  await open.handle.close(code: 1000, reason: "")
}

// These functions check how sockets are closed and how they fail.

func reportsTheCloseCode(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.far.close(code: 4_001, reason: "go away")
  let found = try await check.failure(in: open.events, "a close frame ends the socket")
  try ContractViolation.unless(
    found, is: .closed(code: 4_001, reason: "go away"), "the code and the reason are reported")
  try ContractViolation.unless(
    await open.handle.send(text: [1]), is: .closed, "a closed socket refuses messages")
  try ContractViolation.unless(open.events.count, is: 0, "nothing follows a failure")
}

func reportsALostConnection(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.far.drop()
  let found = try await check.failure(in: open.events, "a lost connection ends the socket")
  guard [.ended, .reset].contains(found) else {
    throw ContractViolation("a lost connection is reported as ended or reset: found \(found)")
  }
}

func closesWithACode(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.handle.close(code: 4_002, reason: "done")
  try ContractViolation.unless(
    await open.far.received(), is: .closed(code: 4_002, reason: "done"),
    "the server gets the code and the reason")
  try ContractViolation.unless(
    await open.handle.send(text: [1]), is: .closed, "a socket that was closed refuses messages")
}

func staysSilentAfterClose(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.handle.close(code: 1000, reason: "")
  let before = open.events.count
  await open.far.send(text: [UInt8(ascii: "x")])
  await open.far.drop()
  // After a complete exchange on another socket, bytes still in transit have had time to arrive.
  let other = try await check.open()
  await other.far.send(text: [UInt8(ascii: "y")])
  _ = await other.events.next()
  await other.handle.close(code: 1000, reason: "")
  try ContractViolation.unless(open.events.count, is: before, "nothing follows a close")
}

func closesFromWithinDeliver(_ check: DialerCheck) async throws {
  let handles = Mailbox<any SocketHandle>()
  let closed = Mailbox<Bool>()
  let handle = await check.dialer.open(check.request()) { event in
    guard case .text = event, let handle = await handles.next() else { return }
    await handle.close(code: 1000, reason: "")
    closed.put(true)
  }
  handles.put(handle)
  let far = try await check.server.next()
  await far.accept(headers: [:])
  await far.send(text: [UInt8(ascii: "x")])
  try ContractViolation.unless(
    await closed.next(), is: true, "a socket can be closed while an event is delivered")
}

func closesWhenDropped(_ check: DialerCheck) async throws {
  let far = try await check.open().far
  let found = try await far.received()
  switch found {
  case .closed, .dropped, nil: return
  case .text, .binary, .ping:
    throw ContractViolation(
      "a dropped handle closes its socket: found \(String(describing: found))")
  }
}
