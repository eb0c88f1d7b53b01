public import BottleFirmware
public import LinkCore
public import LinkWire

/// A bottle on a host: the firmware's rules, with values as bytes and the host's time.
///
/// It is the bottle of tests, simulations and `holdfast bottle virtual`. What it is told is what
/// the world and the radio do; what it returns is what its radio sends.
public struct VirtualBottle: Sendable {
  /// The firmware, as it runs on a bottle.
  public private(set) var bottle: Bottle<ArrayStorage>
  /// The longest value that a notification of this connection carries; longer ones are cut off.
  public private(set) var longestValue = 20
  private let profile: TimerProfile
  /// The time that stands for 0 of the firmware's counter.
  private var start: Instant
  private var last: Instant

  /// What happens to a bottle.
  public enum Input: Sendable, Equatable {
    /// Something that is done to it.
    case world(BottleInput)
    /// A phone connected; the longest value that a notification carries is MTU - 3.
    case connected(longestValue: Int)
    /// Both ends agreed on another length.
    case negotiated(longestValue: Int)
    case disconnected
    case written(BottleAttribute, [UInt8])
    /// Its battery was taken out and put back: it forgets what is not in its flash.
    case restarted
    /// Its flash was erased too: its records are gone, and their ids begin again.
    case erased
  }

  /// What a bottle does.
  public enum Output: Sendable, Equatable {
    case advertises(Bool)
    /// It ends the connection.
    case disconnects
    case notifies(BottleAttribute, [UInt8])
    /// A write was taken or refused.
    case answers(BottleAttribute, isTaken: Bool)
    case sleeps(deeply: Bool)
    /// What is in the flash changed.
    case stores
  }

  /// A bottle that sleeps.
  ///
  /// - Parameter nextID: the id of the next record; `nil` for one more than that of the last.
  public init(
    _ profile: TimerProfile, records: [BottleRecord] = [], nextID: UInt32? = nil,
    level: UInt16 = 600, capacity: Int = RecordRing<ArrayStorage>.usualCapacity, at now: Instant
  ) {
    self.profile = profile
    (start, last) = (now, now)
    bottle = Bottle(
      profile, ring: Self.ring(records, nextID: nextID, capacity: capacity), level: level)
  }

  /// Whether it counts and marks deleted records as bottles did until now.
  public var countsDeleted: Bool {
    get { bottle.countsDeleted }
    set { bottle.countsDeleted = newValue }
  }

  /// Its records, oldest first.
  public var records: [BottleRecord] {
    (0..<bottle.ring.count).map { BottleRecord(bottle.ring[$0]) }
  }

  /// When it wants to be called; `nil` while only an input can change anything.
  public var deadline: Instant? {
    bottle.deadline.map { due in
      let wait = Int32(bitPattern: due &- counter(at: last))
      return last.advanced(by: .milliseconds(max(Int64(wait), 0)))
    }
  }

  public mutating func tick(at now: Instant) -> [Output] {
    let effects = bottle.tick(at: advance(to: now))
    return outputs(effects)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Output] {
    let time = advance(to: now)
    switch input {
    case .world(let input):
      // Not in one expression: the outputs show the bottle after the step.
      let effects = bottle.handle(input, at: time)
      return outputs(effects)
    case .connected(let longest):
      longestValue = max(longest, 20)
      let effects = bottle.handle(.connected, at: time)
      return outputs(effects) + (effects.contains(.reject) ? [.disconnects] : [])
    case .negotiated(let longest):
      longestValue = max(longest, 20)
      return []
    case .disconnected:
      let effects = bottle.handle(.disconnected, at: time)
      return outputs(effects)
    case .written(let attribute, let bytes): return written(bytes, to: attribute, at: time)
    case .restarted:
      let ring = Self.ring(
        records, nextID: bottle.ring.nextID, capacity: bottle.ring.storage.capacity)
      return restart(with: ring, bottle.configuration, at: now)
    case .erased:
      let ring = Self.ring([], nextID: nil, capacity: bottle.ring.storage.capacity)
      return restart(with: ring, .usual, at: now)
    }
  }

  /// The value of a characteristic; `nil` if it cannot be read.
  public func value(of attribute: BottleAttribute) -> [UInt8]? {
    switch attribute {
    case .state: state.bytes
    case .configuration: BottleConfiguration(bottle.configuration).bytes
    case .syncControl: BottleSync(status: bottle.sync.isSending ? .inProgress : .idle).bytes
    case .drinks: chunk.bytes
    case .settings: BottleSwitches(shakeToEmpty: bottle.shakeToEmpty).bytes
    case .activity: activity.bytes
    case .calibration: calibration.bytes
    case .battery: [bottle.battery]
    case .command: nil
    }
  }

  private mutating func written(
    _ bytes: [UInt8], to attribute: BottleAttribute, at time: UInt32
  ) -> [Output] {
    guard let input = BottleInput(bytes, to: attribute) else {
      return [.answers(attribute, isTaken: false)]
    }
    let effects = bottle.handle(input, at: time)
    return [.answers(attribute, isTaken: !effects.contains(.reject))] + outputs(effects)
  }

  private mutating func restart(
    with ring: RecordRing<ArrayStorage>, _ configuration: FirmwareConfiguration, at now: Instant
  ) -> [Output] {
    let ends = outputs(bottle.isConnected ? .disconnect : .init())
    let quiet = outputs(bottle.isAdvertising ? .stopAdvertising : .init())
    let counts = bottle.countsDeleted
    start = now
    bottle = Bottle(profile, ring: ring, configuration: configuration, level: bottle.level)
    bottle.countsDeleted = counts
    let effects = bottle.handle(.tapped, at: 0)
    return ends + quiet + outputs(effects)
  }

  private mutating func advance(to now: Instant) -> UInt32 {
    last = max(last, now)
    return counter(at: last)
  }

  private func counter(at now: Instant) -> UInt32 {
    UInt32(truncatingIfNeeded: start.duration(to: now).nanoseconds / 1_000_000)
  }

  private func outputs(_ effects: BottleEffects) -> [Output] {
    guard effects.bits != 0 else { return [] }
    let table: [(BottleEffects, Output)] = [
      (.persist, .stores), (.advertise, .advertises(true)),
      (.stopAdvertising, .advertises(false)),
      (.notifyState, .notifies(.state, state.bytes)),
      (.notifyCalibration, .notifies(.calibration, calibration.bytes)),
      (.notifyActivity, .notifies(.activity, activity.bytes)),
      (.notifyChunk, .notifies(.drinks, Array(chunk.bytes.prefix(longestValue)))),
      (.disconnect, .disconnects), (.sleep, .sleeps(deeply: false)),
      (.sleepDeeply, .sleeps(deeply: true)),
    ]
    return table.filter { effects.contains($0.0) }.map(\.1)
  }

  private static func ring(
    _ records: [BottleRecord], nextID: UInt32?, capacity: Int
  ) -> RecordRing<ArrayStorage> {
    var storage = ArrayStorage(capacity: capacity)
    let kept = records.suffix(capacity)
    for (place, record) in kept.enumerated() { storage[place] = DrinkRecord(record) }
    let next = nextID ?? (kept.last.map { $0.id &+ 1 } ?? 1)
    return RecordRing(storage, count: kept.count, nextID: next)
  }
}
