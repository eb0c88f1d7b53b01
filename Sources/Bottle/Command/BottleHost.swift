import HoldfastBlueZ
import HoldfastBottleData
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastFirmware
import HoldfastJSON
import HoldfastPorts
import HoldfastRadioSocket
import HoldfastVirtualBottle

/// A running virtual bottle, which consists of its firmware, radio, clock and flash memory.
actor BottleHost {
  /// The location of the radio: a Unix socket, or a Bluetooth adapter of this machine.
  enum Location: Sendable {
    case socket(String)
    case adapter(String?)
  }

  /// The parameters of the bottle.
  struct Setup: Sendable {
    var location: Location
    var name: String
    var longestValue: Int
    var profile: TimerProfile
    var flash: BottleFlash?
    var countsDeleted: Bool
    var content: BottleFlash.Content
  }

  private enum Event: Sendable {
    /// An event of the radio with the given number.
    case radio(Int, PeripheralEvent)
    case action(BottleAction)
    case tick
  }

  private let setup: Setup
  private let reporter: BottleReporter
  private let clock = BootClock()
  private let events: AsyncStream<Event>
  private let input: AsyncStream<Event>.Continuation
  private let done: AsyncStream<Void>
  private let ending: AsyncStream<Void>.Continuation
  private var bottle: VirtualBottle
  private var radio: (any Peripheral)?
  /// The number of radios opened so far. Events of earlier radios are ignored.
  private var radios = 0
  private var timer: Task<Void, Never>?
  private var isDeaf = false
  private var isLinked = false
  private var lastRecord: UInt32 = 0

  init(_ setup: Setup, _ reporter: BottleReporter) {
    (self.setup, self.reporter) = (setup, reporter)
    (events, input) = AsyncStream.makeStream()
    (done, ending) = AsyncStream.makeStream()
    bottle = VirtualBottle(
      setup.profile, records: setup.content.records, nextID: setup.content.nextID, at: clock.now)
    bottle.countsDeleted = setup.countsDeleted
    lastRecord = setup.content.records.last?.id ?? 0
  }

  /// Queues an action without waiting.
  nonisolated func give(_ action: BottleAction) { input.yield(.action(action)) }

  /// Waits until the bottle has quit.
  nonisolated func ended() async { for await _ in done {} }

  /// Opens the radio, and begins to advertise if the firmware advertises.
  func open() throws(CommandFailure) {
    guard radio == nil else { return }
    radio = try peripheral()
    radio?.advertise(bottle.bottle.isAdvertising)
  }

  private func peripheral() throws(CommandFailure) -> any Peripheral {
    radios += 1
    let deliver: @Sendable (PeripheralEvent) -> Void = { [input, radios] in
      input.yield(.radio(radios, $0))
    }
    switch setup.location {
    case .socket(let path):
      do throws(RadioSocketError) {
        return try SocketPeripheral(
          path: path, id: Self.id(of: setup.name), service: BottleAttribute.service,
          name: setup.name, characteristics: BottleAttribute.allCases.map(\.id),
          longestValue: UInt16(setup.longestValue), event: deliver)
      } catch {
        throw CommandFailure(.failed, error.description, remedy: "choose another --socket")
      }
    case .adapter(let adapter):
      return BlueZPeripheral(
        adapter: adapter, service: BottleAttribute.service, name: setup.name,
        parts: BottleAttribute.allCases.map { BlueZPeripheral.Part($0.id, $0.flags) },
        deliver: deliver)
    }
  }

  /// Runs until the bottle quits.
  func run() async {
    for await event in events {
      // Events that are still queued are not handled after a cancellation.
      guard !Task.isCancelled else { break }
      let now = clock.now
      switch event {
      case .tick: take(bottle.tick(at: now))
      case .radio(let number, let event):
        if radio != nil, number == radios { take(event, at: now) }
      case .action(.quit):
        await close()
        return
      case .action(.range(false)):
        await leave()
        take(bottle.handle(.disconnected, at: now))
      case .action(let action): take(action, at: now)
      }
      awaitDeadline()
    }
    await close()
  }

  /// Ends the connection and closes the radio, as if the bottle were out of range.
  private func leave() async {
    reportDisconnected()
    await radio?.close()
    radio = nil
  }

  private func close() async {
    timer?.cancel()
    await leave()
    input.finish()
    ending.finish()
  }

  private func awaitDeadline() {
    timer?.cancel()
    guard let due = bottle.deadline else { return }
    timer = Task { [clock, input] in
      if (try? await clock.wait(until: due)) != nil { input.yield(.tick) }
    }
  }

  private func take(_ action: BottleAction, at now: Instant) {
    switch action {
    case .world(let event): take(bottle.handle(.world(event), at: now))
    case .restart:
      radio?.disconnect()
      take(bottle.handle(.restarted, at: now))
    case .erase:
      radio?.disconnect()
      lastRecord = 0
      take(bottle.handle(.erased, at: now))
      store()
    case .range(true):
      do throws(CommandFailure) {
        try open()
      } catch {
        reporter.problem(error)
      }
    case .deaf(let isDeaf): self.isDeaf = isDeaf
    case .range(false), .quit: return
    }
  }

  private func take(_ event: PeripheralEvent, at now: Instant) {
    switch event {
    case .connected(let longest):
      isLinked = true
      reporter.state("connected")
      take(bottle.handle(.connected(longestValue: longest), at: now))
    case .negotiated(let longest):
      let value = min(longest, setup.longestValue)
      take(bottle.handle(.negotiated(longestValue: value), at: now))
    case .disconnected:
      reportDisconnected()
      take(bottle.handle(.disconnected, at: now))
    case .read(let number, let id):
      radio?.reply(number, BottleAttribute(id: id).flatMap { bottle.value(of: $0) })
    case .write(let number, let id, let bytes):
      guard let attribute = BottleAttribute(id: id) else {
        radio?.reply(number, nil)
        return
      }
      if isDeaf, attribute == .syncControl, bytes == BottleSync.acknowledgement.bytes { return }
      let outputs = bottle.handle(.written(attribute, bytes), at: now)
      let isTaken = !outputs.contains(.answers(attribute, isTaken: false))
      // The change must be in the flash memory before the reply is sent, because acknowledged
      // records are never sent again.
      if outputs.contains(.stores) { store() }
      radio?.reply(number, isTaken ? [] : nil)
      take(outputs.filter { $0 != .stores })
    }
  }

  /// Reports the end of a connection once, even if both ends close the connection.
  private func reportDisconnected() {
    if isLinked { reporter.state("disconnected") }
    isLinked = false
  }

  private func take(_ outputs: [VirtualBottle.Output]) {
    for output in outputs {
      switch output {
      case .advertises(let isOn):
        radio?.advertise(isOn)
        reporter.state(isOn ? "advertising" : "quiet")
      case .disconnects:
        radio?.disconnect()
        reportDisconnected()
      case .notifies(let attribute, let bytes): radio?.notify(attribute.id, bytes)
      case .answers: continue
      case .sleeps(let deeply): reporter.state(deeply ? "deep-sleep" : "asleep")
      case .stores: store()
      }
    }
  }

  private func store() {
    let records = bottle.records
    do throws(CommandFailure) {
      let next = bottle.bottle.ring.nextID
      try setup.flash?.write(BottleFlash.Content(records: records, nextID: next))
    } catch {
      reporter.problem(error)
    }
    for record in records where record.id > lastRecord {
      lastRecord = record.id
      reporter.record(record)
    }
  }

  /// Returns the ID of a bottle, which depends only on the bottle's name.
  private static func id(of name: String) -> PeripheralID {
    let hash = FNV1a.hash(name.utf8)
    return PeripheralID(UUID128(high: hash & ~0xF000 | 0x8000, low: hash | 1 << 63 & ~(1 << 62)))
  }
}

/// A reporter of a virtual bottle's states, records and problems.
struct BottleReporter: Sendable {
  let command: String
  let console: Console
  let isJSON: Bool

  func state(_ name: String) {
    guard isJSON else { return console.line("-- \(name)") }
    JSONEvents(console).write("bottle") { $0.entry("state", name) }
  }

  func record(_ record: BottleRecord) {
    guard isJSON else { return console.line("-- record \(record.id): \(record.amount) ml") }
    JSONEvents(console).write("record") {
      $0.entry("id", Int(record.id))
      $0.entry("amountML", Int(record.amount))
    }
  }

  func problem(_ failure: CommandFailure) { console.diagnostic("\(command): \(failure.line)") }
}

extension BottleAttribute {
  /// The operations that a phone may perform, with the names that BlueZ uses.
  fileprivate var flags: [String] {
    switch self {
    case .state, .drinks, .activity, .calibration, .battery: ["read", "notify"]
    case .configuration, .syncControl, .settings: ["read", "write"]
    case .command: ["write"]
    }
  }
}
