import LinkCore
import LinkRuntime

// How sockets end.

func tellsTheCloseCode(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.far.close(code: 4_001, reason: "go away")
  let found = try await check.failure(in: open.events, "a close frame ends the socket")
  try ContractViolation.unless(
    found, is: .closed(code: 4_001, reason: "go away"), "the code and the reason are told")
  try ContractViolation.unless(
    await open.handle.send(text: [1]), is: .closed, "a closed socket refuses messages")
  try ContractViolation.unless(open.events.count, is: 0, "nothing follows a failure")
}

func tellsOfALostConnection(_ check: DialerCheck) async throws {
  let open = try await check.open()
  await open.far.drop()
  let found = try await check.failure(in: open.events, "a lost connection ends the socket")
  guard [.ended, .reset].contains(found) else {
    throw ContractViolation("a lost connection is told as ended or reset: found \(found)")
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
  // Whatever was on its way has had its time when another socket has done a whole exchange.
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
  let found = await far.received()
  switch found {
  case .closed, .dropped, nil: return
  case .text, .binary, .ping:
    throw ContractViolation(
      "a dropped handle closes its socket: found \(String(describing: found))")
  }
}
