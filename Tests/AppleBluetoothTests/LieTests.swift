@_spi(Script) import CoreBluetooth
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastBluetooth

/// Tests with callbacks that are doubled, late or missing, in any order.
@Suite(.timeLimit(.minutes(60)))
struct LieTests {
  @Test func `no order of callbacks breaks a rule, for 1,000 seeds`() async {
    for seed in 0..<1_000 {
      var play = Play(UInt64(seed))
      await play.run()
      let broken = await play.broken()
      #expect(broken == [], "seed \(seed)")
      guard broken.isEmpty else { return }
    }
  }

  @Test func `a record of the same ticket that is reported twice is found`() {
    let book = TicketBook()
    book.take(.connected(AttemptID(1)))
    book.take(.connected(AttemptID(1)))
    #expect(book.broken == ["1 was told twice that it is connected"])
  }

  @Test func `a record of an event after the cancellation is found`() {
    let book = TicketBook()
    book.void([AttemptID(1)])
    book.take(.failed(AttemptID(1), .reset))
    #expect(book.broken.count == 1)
  }
}

/// A random run of an app, a system and two peripherals.
private struct Play {
  private static let kinds: [GATTID] = [
    ContractDevice.value, BottleAttribute.battery.id,
    GATTID(high: 0x1111_1111_1111_1111, low: 0x9111_1111_1111_1111),
  ]

  private let system: FakeBluetooth
  private let central: CoreBluetoothCentral
  private let book = TicketBook()
  private var random: RandomSource
  private var lastAttempt: UInt64 = 0
  private var attempts: [AttemptID] = []
  /// Whether a callback was never made.
  private var hasLostCallbacks = false
  /// The tickets of each peripheral.
  private var tickets: [[AttemptID]] = [[], []]

  init(_ seed: UInt64) {
    random = RandomSource(seed: seed)
    let profile: [(service: GATTID, characteristics: [GATTID])] = [
      (ContractDevice.service, [ContractDevice.value]),
      (BottleAttribute.batteryService, [BottleAttribute.battery.id]),
    ]
    let devices = [UInt8(1), 2].map { FakeDevice($0, name: "\($0)", profile: profile) }
    let system = FakeBluetooth(devices)
    system.lies = true
    devices[1].refusesReconnection = seed % 8 == 0
    self.system = system
    central = system.central(restoration: "lies")
    for device in devices {
      device.tell = { [unowned device, unowned system] event in
        switch event {
        case .read(let number, _): device.reply(number, number % 5 == 0 ? nil : [1], system)
        case .write(let number, _, _): device.reply(number, number % 5 == 0 ? nil : [], system)
        case .connected, .disconnected: return
        }
      }
    }
  }

  mutating func run() async {
    central.events { [book] in book.take($0) }
    await system.on { $0.delivery = .held }
    for _ in 0..<80 { await step() }
    await settle()
    await checkService()
    await central.close()
    await system.on { _ in }
  }

  func broken() async -> [String] {
    var broken = book.broken
    broken += system.radio.misuses.map { "misuse: \($0)" }
    broken += system.radio.unanswered.map { "unanswered: \($0)" }
    broken += await system.on(\.violations)
    if book.openRequests > 0 { broken.append("\(book.openRequests) requests have no result") }
    return broken
  }

  private mutating func step() async {
    let (which, choice) = (Int.random(in: 0..<2, using: &random), random.next())
    switch Int.random(in: 0..<24, using: &random) {
    case 0: central.scan(for: [ContractDevice.service])
    case 1: central.stopScan()
    case 2...4: connect(which, choice)
    case 5, 6: await cancel(choice)
    case 7...9: request(choice)
    case 10: await system.on { $0.lose($0.devices[which]) }
    case 11, 12:
      await system.on {
        $0.devices[which].isAdvertising = true
        $0.look()
      }
    case 13:
      await system.on {
        $0.devices[which].isResting = false
        $0.look()
      }
    case 14: await system.on { $0.devices[which].notify(ContractDevice.value, [9], $0) }
    case 15 where choice % 3 == 0: await system.on { $0.devices[which].changeServices() }
    case 16 where choice % 3 == 0: await turnOffAndOn(choice)
    case _: await deliver(choice)
    }
    await system.on { _ in }
  }

  private mutating func connect(_ which: Int, _ choice: UInt64) {
    lastAttempt += 1
    let attempt = AttemptID(lastAttempt)
    attempts.append(attempt)
    tickets[which].append(attempt)
    let id = PeripheralID(UUID128(high: 0, low: UInt64(which + 1)))
    central.connect(
      id, attempt: attempt, isQueued: choice & 1 == 0, after: choice & 6 == 0 ? .seconds(90) : .zero
    )
  }

  private mutating func cancel(_ choice: UInt64) async {
    guard !attempts.isEmpty else { return }
    let attempt = attempts.remove(at: Int(choice % UInt64(attempts.count)))
    central.cancel(attempt)
    await system.on { [book] _ in book.void([attempt]) }
  }

  private func request(_ choice: UInt64) {
    guard !attempts.isEmpty else { return }
    let attempt = attempts[Int(choice % UInt64(attempts.count))]
    let id = Self.kinds[Int(choice >> 8 % 3)]
    let work: BluetoothRadio.Work =
      switch choice >> 16 % 4 {
      case 0: .discover(ContractDevice.service, [id])
      case 1: .notify(id)
      case 2: .read(id)
      case _: .write(id, [1, 2])
      }
    let number = book.began()
    central.radio.run { [book] in $0.request(work, of: attempt) { _ in book.ended(number) } }
  }

  /// Makes one of the callbacks that wait: once, twice or never.
  private mutating func deliver(_ choice: UInt64) async {
    let fate = choice >> 32 % 10
    if fate == 1 { hasLostCallbacks = true }
    await system.on {
      guard !$0.held.isEmpty else { return }
      let index = Int(choice % UInt64($0.held.count))
      let next = $0.held[index]
      if fate != 0 { $0.held.remove(at: index) }
      next.effect()
      if fate != 1 { next.callback() }
    }
  }

  /// Turns the radio off and on. One callback in three is missing.
  private mutating func turnOffAndOn(_ choice: UInt64) async {
    let states: [CBManagerState] = [.poweredOff, .resetting, .unauthorized]
    let isTold = choice >> 40 % 3 != 0
    let all = isTold ? attempts : []
    if isTold { attempts = [] }
    await system.on { [book] in
      $0.turn(states[Int(choice >> 8 % 3)], isTold: isTold)
      book.void(all)
    }
    // Tickets without a radio are invalid.
    connect(0, choice)
    await deliver(choice)
    await system.on { [book, lastAttempt] in
      if isTold { book.void([AttemptID(lastAttempt)]) }
      $0.turn(.poweredOn)
    }
  }

  /// Makes all callbacks that wait. In half of the runs, all tickets are cancelled first.
  private mutating func settle() async {
    if random.next() & 1 == 0 { while !attempts.isEmpty { await cancel(0) } }
    while await system.on({ !$0.held.isEmpty }) { await deliver(2 << 32) }
    // The system ends a connection whose request had no answer for 30 seconds.
    if hasLostCallbacks { await system.on { for device in $0.devices { $0.lose(device) } } }
    while await system.on({ !$0.held.isEmpty }) { await deliver(2 << 32) }
    await system.on {
      $0.delivery = .prompt
      $0.lies = false
      for device in $0.devices { device.isResting = false }
    }
  }

  /// Checks that the central is not stuck: each peripheral connects, for all tickets, and answers.
  private mutating func checkService() async {
    for which in 0..<2 {
      connect(which, 7)
      let attempt = AttemptID(lastAttempt)
      let wanted = tickets[which]
      var polls = 0
      while !book.hasOpened(wanted), polls < 100 {
        await system.on {
          $0.devices[which].isAdvertising = true
          $0.devices[which].isResting = false
          $0.look()
        }
        polls += 1
      }
      guard book.hasOpened(wanted), book.isConnected(attempt) else {
        book.note("peripheral \(which) does not connect any more")
        continue
      }
      await read(attempt)
    }
  }

  /// Reads a value. The reply to a fifth request is a refusal.
  private func read(_ attempt: AttemptID) async {
    for _ in 0..<2 {
      let answer = Mailbox<Result<[UInt8], LinkFailure>>()
      central.radio.run { $0.request(.read(ContractDevice.value), of: attempt) { answer.put($0) } }
      var results: [Result<[UInt8], LinkFailure>] = []
      for _ in 0..<100 where results.isEmpty {
        await system.on { _ in }
        results = answer.takeAll()
      }
      switch results.first {
      case .success([1]): return
      case .success: return book.note("a read has the wrong value")
      case .failure: continue
      case nil: return book.note("a read has no result")
      }
    }
  }
}

/// The record of what tickets and requests were told.
private final class TicketBook: Sendable {
  private struct State {
    var connected: Set<AttemptID> = []
    var over: Set<AttemptID> = []
    var requests: Set<Int> = []
    var lastRequest = 0
    var broken: [String] = []
  }

  private let state = Mutex(State())

  var broken: [String] { state.withLock(\.broken) }
  var openRequests: Int { state.withLock(\.requests.count) }

  func isConnected(_ attempt: AttemptID) -> Bool {
    state.withLock { $0.connected.contains(attempt) && !$0.over.contains(attempt) }
  }

  /// Returns whether each of these tickets is connected or over.
  func hasOpened(_ attempts: [AttemptID]) -> Bool {
    state.withLock { $0.connected.union($0.over).isSuperset(of: attempts) }
  }

  func note(_ text: String) { state.withLock { $0.broken.append(text) } }

  /// Records that tickets are invalid from now on.
  func void(_ attempts: [AttemptID]) { state.withLock { $0.over.formUnion(attempts) } }

  func began() -> Int {
    state.withLock {
      $0.lastRequest += 1
      $0.requests.insert($0.lastRequest)
      return $0.lastRequest
    }
  }

  func ended(_ number: Int) {
    state.withLock {
      if $0.requests.remove(number) == nil { $0.broken.append("request \(number) ended twice") }
    }
  }

  func take(_ event: CentralEvent) {
    state.withLock { state in
      guard let attempt = event.attempt else { return }
      if state.over.contains(attempt) {
        state.broken.append("\(attempt.number) heard \(event) after its end")
      }
      let isConnected = state.connected.contains(attempt)
      switch event {
      case .connected:
        if isConnected {
          state.broken.append("\(attempt.number) was told twice that it is connected")
        }
        state.connected.insert(attempt)
      case .failed:
        if isConnected { state.broken.append("\(attempt.number) failed while connected") }
        state.over.insert(attempt)
      case .disconnected:
        if !isConnected { state.broken.append("\(attempt.number) ended before it was connected") }
        state.over.insert(attempt)
      case .value, .changed:
        if !isConnected { state.broken.append("\(attempt.number) heard \(event) too early") }
      case .adapter, .restored, .found: return
      }
    }
  }
}

extension CentralEvent {
  /// The ticket that the event concerns.
  fileprivate var attempt: AttemptID? {
    switch self {
    case .connected(let attempt), .failed(let attempt, _), .disconnected(let attempt, _),
      .changed(let attempt), .value(let attempt, _, _):
      attempt
    case .adapter, .restored, .found: nil
    }
  }
}
