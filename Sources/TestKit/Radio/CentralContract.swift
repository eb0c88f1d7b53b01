public import HoldfastBottleData
public import HoldfastCore
public import HoldfastFeaturePorts

/// The peripheral that a contract suite for a central uses. It is within the range of the central's
/// radio.
///
/// The peripheral stops advertising when a central connects, until `advertise(_:)` is called again.
public protocol FarPeripheral: Sendable {
  var id: PeripheralID { get }
  var name: String { get }
  /// The advertised service.
  var service: GATTID { get }
  /// A characteristic of the service that supports reads, writes and notifications.
  var characteristic: GATTID { get }

  /// Starts or stops advertising.
  func advertise(_ isOn: Bool) async
  /// Ends the connection. `next` does not report this.
  func disconnect() async
  /// Sends a value of the characteristic as a notification.
  func notify(_ bytes: [UInt8]) async
  /// Replaces the services of the connected peripheral by equal ones, which invalidates all
  /// discovered services and subscriptions.
  ///
  /// - Returns: The behavior that the central must have. A radio on which services cannot change
  ///   says why, and the contract then requires that its central never reports a change.
  func changeServices() async -> ServiceChangeReport
  /// Answers a request. `nil` refuses the request.
  func reply(_ request: UInt16, _ bytes: [UInt8]?) async
  /// Returns the next action of a central.
  func next() async -> FarPeripheralEvent?
}

/// The behavior that a contract requires of a central after a change of services.
public enum ServiceChangeReport: Sendable, Hashable {
  /// The central reports the change, and discovers the services again when it is asked.
  case reported
  /// Services cannot change on this radio, for a reason. Nothing was changed.
  case impossible(String)
}

/// An action of a central that a peripheral observes.
public enum FarPeripheralEvent: Sendable, Hashable {
  case connected
  case disconnected
  /// A read request. The number identifies it in the reply.
  case read(UInt16, GATTID)
  case write(UInt16, GATTID, [UInt8])
}

/// Checks the promises of `Central`, for any implementation and any test library.
///
/// A central reports services that a peripheral changed during a connection. A radio on which this
/// cannot happen is exempt; see `FarPeripheral.changeServices()`.
///
/// - Parameters:
///   - central: An unused central whose radio is on. The function closes it at the end.
///   - far: A peripheral that is within range and does not advertise.
/// - Throws: `ContractViolation` for the first broken promise.
public func centralContract(_ central: any Central, far: any FarPeripheral) async throws {
  let check = CentralCheck(central: central, far: far)
  central.events { [events = check.events] in events.put($0) }
  let checks: [@Sendable (CentralCheck) async throws -> Void] = [
    reportsThatTheRadioIsOn, findsOnlyItsServices, findsWhatAdvertises, reportsTicketsByAge,
    doesWhatATicketAsks, reportsChangedServices, keepsAConnectionForItsLastTicket, reportsALoss,
    connectsBehindACancel, isSilentAfterClose, opensAgain,
  ]
  for next in checks { try await next(check) }
}

private typealias Broken = ContractViolation

private func id(_ number: UInt64) -> AttemptID { AttemptID(number) }

/// A central, its events, and the peripheral.
private struct CentralCheck: Sendable {
  let central: any Central
  let far: any FarPeripheral
  let events = Mailbox<CentralEvent>()

  /// An identifier that no service or characteristic of the peripheral has.
  static let missing = GATTID(high: 0x1111_1111_1111_1111, low: 0x9111_1111_1111_1111)

  /// Returns the next event other than an advertisement.
  func event() async -> CentralEvent? {
    while let event = await events.next() {
      guard case .found = event else { return event }
    }
    return nil
  }

  func expect(_ wanted: FarPeripheralEvent, _ promise: String) async throws {
    try Broken.unless(await far.next(), is: wanted, promise)
  }

  /// Makes the central connect, and checks that the connection is reported.
  func connect(_ attempt: AttemptID, _ promise: String) async throws {
    central.connect(far.id, attempt: attempt, isQueued: true)
    await far.advertise(true)
    try Broken.unless(await event(), is: .connected(attempt), promise)
    try await expect(.connected, promise)
  }

  /// Reads the characteristic, and lets the peripheral answer.
  func read(_ attempt: AttemptID, _ promise: String) async throws {
    async let value = answer(to: attempt)
    guard case .read(let number, far.characteristic)? = await far.next() else {
      throw Broken("\(promise): the peripheral was not read")
    }
    await far.reply(number, [1, 2, 3])
    try Broken.unless(await value, is: [1, 2, 3], promise)
  }

  /// Returns the result of a read, or `nil` if the read fails.
  func answer(to attempt: AttemptID) async -> [UInt8]? {
    try? await central.read(far.characteristic, of: attempt)
  }

  func discovers(
    _ attempt: AttemptID, _ service: GATTID, _ characteristics: [GATTID]
  ) async -> Bool {
    (try? await central.discover(service, characteristics, of: attempt)) != nil
  }

  func writes(_ bytes: [UInt8], _ attempt: AttemptID) async -> Bool {
    (try? await central.write(bytes, to: far.characteristic, of: attempt)) != nil
  }
}

@Sendable private func reportsThatTheRadioIsOn(_ check: CentralCheck) async throws {
  var state = await check.event()
  while state == .adapter(.unknown) { state = await check.event() }
  try Broken.unless(state, is: .adapter(.on), "a radio that is on is reported first")
}

@Sendable private func findsOnlyItsServices(_ check: CentralCheck) async throws {
  check.central.scan(for: [CentralCheck.missing])
  check.central.connect(check.far.id, attempt: id(1), isQueued: false)
  await check.far.advertise(true)
  try Broken.unless(
    await check.events.next(), is: .connected(id(1)), "a scan reports no other services")
  try await check.expect(.connected, "a connect reaches the peripheral")
  check.central.cancel(id(1))
  check.central.cancel(id(77))
  try await check.expect(.disconnected, "the last ticket ends the connection")
}

@Sendable private func findsWhatAdvertises(_ check: CentralCheck) async throws {
  check.central.scan(for: [CentralCheck.missing])
  check.central.scan(for: [check.far.service])
  await check.far.advertise(true)
  while let event = await check.events.next() {
    // This event belongs to the connection that was cancelled.
    if case .disconnected(id(1), nil) = event { continue }
    try Broken.unless(
      event, is: .found(check.far.id, name: check.far.name), "a second scan replaces the first")
    break
  }
  check.central.stopScan()
  await check.far.advertise(false)
}

@Sendable private func reportsTicketsByAge(_ check: CentralCheck) async throws {
  check.central.connect(check.far.id, attempt: id(2), isQueued: true)
  check.central.connect(check.far.id, attempt: id(3), isQueued: false)
  await check.far.advertise(true)
  for attempt in [id(2), id(3)] {
    try Broken.unless(
      await check.event(), is: .connected(attempt), "a connection is reported to all, oldest first")
  }
  try await check.expect(.connected, "several tickets make one connection")
  check.central.connect(check.far.id, attempt: id(4), isQueued: true)
  try Broken.unless(
    await check.event(), is: .connected(id(4)), "a peripheral that is connected opens at once")
}

@Sendable private func doesWhatATicketAsks(_ check: CentralCheck) async throws {
  let (central, far) = (check.central, check.far)
  try Broken.unless(
    await check.discovers(id(2), far.service, [far.characteristic]), is: true,
    "what is there is found")
  try Broken.unless(
    await check.discovers(id(2), far.service, [far.characteristic, CentralCheck.missing]),
    is: false,
    "a characteristic that is missing is an error")
  try await central.notify(far.characteristic, of: id(2))
  await far.notify([9, 8])
  try Broken.unless(
    await check.event(), is: .value(id(2), far.characteristic, [9, 8]), "a notified value arrives")
  try await check.read(id(2), "a read returns the value")
  async let taken = check.writes([7], id(2))
  guard case .write(let first, far.characteristic, [7])? = await far.next() else {
    throw Broken("a write reaches the peripheral")
  }
  await far.reply(first, [])
  try Broken.unless(await taken, is: true, "a write ends when it was taken")
  async let refused = check.writes([6, 6], id(2))
  guard case .write(let second, far.characteristic, [6, 6])? = await far.next() else {
    throw Broken("a second write reaches the peripheral")
  }
  await far.reply(second, nil)
  try Broken.unless(await refused, is: false, "a write that is refused is an error")
  let longest = await central.longestValue(of: id(2))
  guard longest >= 20 else { throw Broken("a value of 20 bytes fits: found \(longest)") }
  try Broken.unless(await check.answer(to: id(99)), is: nil, "an unknown ticket reads nothing")
}

/// The tickets 2, 3 and 4 are connected, and ticket 2 has subscribed.
@Sendable private func reportsChangedServices(_ check: CentralCheck) async throws {
  let (central, far) = (check.central, check.far)
  if case .reported = await far.changeServices() {
    for attempt in [id(2), id(3), id(4)] {
      try Broken.unless(
        await check.event(), is: .changed(attempt),
        "changed services are reported to all, oldest first")
    }
    try Broken.unless(
      await check.discovers(id(2), far.service, [far.characteristic]), is: true,
      "changed services are discovered again")
    try await central.notify(far.characteristic, of: id(2))
  }
  await far.notify([5])
  try Broken.unless(
    await check.event(), is: .value(id(2), far.characteristic, [5]),
    "a subscription works after a change of the services, and without one")
  try await check.read(id(3), "all tickets read the services that were discovered again")
}

@Sendable private func keepsAConnectionForItsLastTicket(_ check: CentralCheck) async throws {
  check.central.cancel(id(2))
  check.central.cancel(id(4))
  try Broken.unless(await check.answer(to: id(2)), is: nil, "a cancelled ticket reads nothing")
  try await check.read(id(3), "a connection stays for its last ticket")
}

@Sendable private func reportsALoss(_ check: CentralCheck) async throws {
  async let value = check.answer(to: id(3))
  guard case .read? = await check.far.next() else { throw Broken("a read reaches the peripheral") }
  await check.far.disconnect()
  try Broken.unless(await value, is: nil, "a request ends with its connection")
  while let event = await check.event() {
    // The ends of cancelled attempts may be reported too.
    if case .disconnected(let attempt, nil) = event, attempt != id(3) { continue }
    guard case .disconnected(id(3), .some) = event else {
      throw Broken("a connection that is lost is reported with a reason: found \(event)")
    }
    break
  }
  try Broken.unless(await check.answer(to: id(3)), is: nil, "without a connection nothing is read")
}

@Sendable private func connectsBehindACancel(_ check: CentralCheck) async throws {
  try await check.connect(id(5), "a ticket connects again after a loss")
  check.central.cancel(id(5))
  check.central.connect(check.far.id, attempt: id(6), isQueued: true)
  try await check.expect(.disconnected, "a connect begins behind the end of the connection")
  await check.far.advertise(true)
  while let event = await check.event() {
    if case .disconnected(id(5), nil) = event { continue }
    try Broken.unless(event, is: .connected(id(6)), "what was asked for during the end connects")
    break
  }
  try await check.expect(.connected, "a second connection is another one")
}

@Sendable private func isSilentAfterClose(_ check: CentralCheck) async throws {
  await check.central.close()
  _ = check.events.takeAll()
  try await check.expect(.disconnected, "a central that is closed leaves no connection")
  try Broken.unless(check.events.takeAll(), is: [], "nothing is reported after the end")
}

/// The central is closed. Its next user numbers attempts from the beginning, as after a sign-out.
@Sendable private func opensAgain(_ check: CentralCheck) async throws {
  let (central, far) = (check.central, check.far)
  central.scan(for: [far.service])
  central.connect(far.id, attempt: id(7), isQueued: true)
  try Broken.unless(await check.answer(to: id(6)), is: nil, "a closed central reads nothing")
  let again = CentralCheck(central: central, far: far)
  central.events { [events = again.events] in events.put($0) }
  try await reportsThatTheRadioIsOn(again)
  central.connect(far.id, attempt: id(6), isQueued: true)
  await far.advertise(true)
  try Broken.unless(
    await again.events.next(), is: .connected(id(6)),
    "a central that is opened again connects, and ignores what was asked while it was closed")
  try await again.expect(.connected, "a central that is opened again uses the radio")
  try Broken.unless(
    await again.discovers(id(6), far.service, [far.characteristic]), is: true,
    "a central that is opened again discovers services")
  try await again.read(id(6), "a central that is opened again reads")
  await central.close()
  try await again.expect(.disconnected, "a second close leaves no connection")
  try Broken.unless(check.events.takeAll(), is: [], "the first user receives no later event")
}
