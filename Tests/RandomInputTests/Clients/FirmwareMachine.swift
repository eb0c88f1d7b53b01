import HoldfastCore
import HoldfastVirtualBottle

@testable import HoldfastFirmware

/// A machine that wraps a bottle's firmware and converts time values of the host.
struct FirmwareMachine: Machine {
  private(set) var bottle: Bottle<ArrayStorage>
  /// The time of the most recent call of the firmware.
  private var last = Instant.zero

  /// An input of the firmware. It cannot be encoded, since no journal contains it.
  struct Input: Sendable, Equatable, Codable, CustomReflectable, CustomStringConvertible {
    let value: BottleInput

    init(_ value: BottleInput) { self.value = value }

    init(from decoder: any Decoder) throws {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "not codable"))
    }

    func encode(to encoder: any Encoder) throws {
      throw EncodingError.invalidValue(
        description, .init(codingPath: encoder.codingPath, debugDescription: "not codable"))
    }

    var customMirror: Mirror { Mirror(reflecting: value) }
    var description: String { "\(value)" }
  }

  /// An effect of the firmware. The raw value is its bit in `BottleEffects`.
  enum Effect: UInt16, Sendable, Codable, CaseIterable {
    case advertise = 1
    case stopAdvertising = 2
    case sleep = 4
    case sleepDeeply = 8
    case disconnect = 16
    case notifyState = 32
    case notifyChunk = 64
    case notifyCalibration = 128
    case notifyActivity = 256
    case persist = 512
    case reject = 1_024
  }

  init(_ bottle: Bottle<ArrayStorage>) { self.bottle = bottle }

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    last = now
    return Self.effects(bottle.handle(input.value, at: Self.milliseconds(now)))
  }

  mutating func tick(at now: Instant) -> [Effect] {
    last = now
    return Self.effects(bottle.tick(at: Self.milliseconds(now)))
  }

  var deadline: Instant? {
    bottle.deadline.map { due in
      let left = Int32(bitPattern: due &- Self.milliseconds(last))
      // The firmware's time begins at the start of the millisecond.
      let begin = last.nanoseconds - last.nanoseconds % 1_000_000
      return Instant(nanoseconds: begin).advanced(by: .milliseconds(Int(left)))
    }
  }

  private static func effects(_ all: BottleEffects) -> [Effect] {
    Effect.allCases.filter { all.bits & $0.rawValue != 0 }
  }

  private static func milliseconds(_ now: Instant) -> UInt32 {
    UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000)
  }

  func check(_ check: inout InvariantCheck) {
    check.require(
      !bottle.isAdvertising || (bottle.power == .awake && !bottle.isConnected),
      "firmware: it advertises only while it is awake and not connected")
    check.require(
      !bottle.isConnected || bottle.power == .awake, "firmware: only an awake bottle is connected")
    check.require(
      !bottle.sync.isSending || bottle.isConnected, "firmware: it sends only while connected")
    check.require(
      !bottle.isLocked || bottle.power != .awake, "firmware: a low battery keeps it asleep")
    check.require(bottle.configuration.isValid, "firmware: its configuration is valid")
    checkRing(&check)
  }

  private func checkRing(_ check: inout InvariantCheck) {
    let ring = bottle.ring
    check.require(
      ring.count <= ring.storage.capacity && ring.first < ring.storage.capacity,
      "firmware: records fit the flash")
    check.require(
      (0..<ring.count).allSatisfy {
        ring[$0].id == ring.nextID &- UInt32(ring.count - $0)
      }, "firmware: records have the ids before the next one, without a hole")
  }
}
