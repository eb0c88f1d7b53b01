public import HoldfastBottleData
public import HoldfastCore
public import HoldfastFirmware

/// A bottle on a host. It applies the firmware's rules with the host's time, and encodes values as
/// bytes.
///
/// Tests, simulations and `holdfast bottle virtual` use it. Its inputs come from the environment
/// and the radio, and the radio sends its outputs.
public struct VirtualBottle: Sendable {
  /// The firmware, which is the same code as on a bottle.
  public private(set) var bottle: Bottle<ArrayStorage>
  /// The maximum size of a notification's value on this connection, in bytes. Longer values are
  /// truncated.
  public private(set) var longestValue = 20
  private let profile: TimerProfile
  /// The time at which the firmware's counter was 0.
  private var start: Instant
  private var last: Instant

  /// An event that a virtual bottle handles.
  public enum Input: Sendable, Equatable {
    /// An event of the environment.
    case world(BottleInput)
    /// A phone connected. The maximum size of a notification's value is MTU - 3.
    case connected(longestValue: Int)
    /// Both ends agreed on a new MTU.
    case negotiated(longestValue: Int)
    case disconnected
    case written(BottleAttribute, [UInt8])
    /// The battery was removed and inserted again. All data outside the flash is lost.
    case restarted
    /// The battery was removed and the flash was erased. The records are lost, and ids start again
    /// at 1.
    case erased
  }

  /// An output of a virtual bottle.
  public enum Output: Sendable, Equatable {
    case advertises(Bool)
    /// The bottle ends the connection.
    case disconnects
    case notifies(BottleAttribute, [UInt8])
    /// A write was accepted or rejected.
    case answers(BottleAttribute, isTaken: Bool)
    case sleeps(deeply: Bool)
    /// The contents of the flash changed.
    case stores
  }

  /// Creates a bottle that is asleep.
  ///
  /// - Parameter nextID: The id of the next record. If it is `nil`, the next id follows the last
  ///   record's.
  public init(
    _ profile: TimerProfile, records: [BottleRecord] = [], nextID: UInt32? = nil,
    level: UInt16 = 600, capacity: Int = RecordRing<ArrayStorage>.usualCapacity, at now: Instant
  ) {
    self.profile = profile
    (start, last) = (now, now)
    bottle = Bottle(
      profile, ring: Self.ring(records, nextID: nextID, capacity: capacity), level: level)
  }

  /// Whether deleted records count as unsynchronized and are marked, as by older firmware.
  public var countsDeleted: Bool {
    get { bottle.countsDeleted }
    set { bottle.countsDeleted = newValue }
  }

  /// The records, oldest first.
  public var records: [BottleRecord] {
    (0..<bottle.ring.count).map { BottleRecord(bottle.ring[$0]) }
  }

  /// The time at which `tick` must be called; `nil` while only an input can change the bottle.
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
      // These are separate statements because the outputs must show the bottle after the step.
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

  /// Returns the value of a characteristic; `nil` if it cannot be read.
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
    let stored = records.suffix(capacity)
    for (index, record) in stored.enumerated() { storage[index] = DrinkRecord(record) }
    let next = nextID ?? (stored.last.map { $0.id &+ 1 } ?? 1)
    return RecordRing(storage, count: stored.count, nextID: next)
  }
}
