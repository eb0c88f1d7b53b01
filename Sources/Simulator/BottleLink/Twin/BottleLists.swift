import LinkCore
import LinkWire

/// The summaries and lists of activities that bottles with the original firmware send.
///
/// The firmware of this package has no lists, so the world answers in its place where it plays
/// such a bottle.
enum BottleLists {
  private static let summary: UInt8 = 0x30
  private static let motions: UInt8 = 0x31
  private static let backpacks: UInt8 = 0x32

  /// Returns the value that answers a command; `nil` if it asks for no list.
  static func answer(_ command: [UInt8], _ chance: inout Chance) -> [UInt8]? {
    guard command.count == 4, [summary, motions, backpacks].contains(command[0]) else { return nil }
    if command[0] == summary {
      return LittleEndian.bytes(chance.next(), 8)
        + LittleEndian.bytes(chance.next(), chance.next() % 8 == 0 ? 3 : 4)
    }
    let isOfMotions = command[0] == motions
    // Now and then one entry more than a chunk has room for.
    let count = UInt8(chance.next() % (isOfMotions ? 12 : 7))
    var bytes = [command[1], command[1] &+ UInt8(chance.next() % 3), count, 0]
    for _ in 0..<count {
      bytes += LittleEndian.bytes(chance.next(), isOfMotions ? 6 : 10)
      // What woke it or ended it has three values; a fourth cannot be read.
      bytes.append(UInt8(chance.next() % 20 == 0 ? 3 : chance.next() % 3))
      bytes.append([0, 1, 0x80, 0x81][Int(chance.next() % 4)])
    }
    return chance.next() % 8 == 0 ? bytes.dropLast() : bytes
  }

  /// Returns what is misread in an answer.
  static func stray(_ bytes: [UInt8], of command: [UInt8]) -> String? {
    if command[0] == summary { return stray(summary: bytes) }
    let isOfMotions = command[0] == motions
    let size = isOfMotions ? 8 : 12
    let causes = stride(from: 4 + size - 2, to: bytes.count, by: size)
    let isRight =
      bytes.count == 4 + size * Int(bytes[2]) && bytes[2] <= (isOfMotions ? 10 : 5)
      && causes.allSatisfy { bytes[$0] < 3 }
    let read = isOfMotions ? told(motions: bytes) : told(backpacks: bytes)
    guard read == (isRight ? bytes : nil) else {
      return "a phone reads \(read ?? []) from \(bytes)"
    }
    let again =
      isOfMotions ? rewritten(bytes, BottleMotion.self) : rewritten(bytes, BottleBackpack.self)
    return again == read ? nil : "a phone would write \(again ?? []) for \(bytes)"
  }

  private static func stray(summary bytes: [UInt8]) -> String? {
    let read = try? BottleActivity(bytes)
    guard bytes.count == 12 else { return read == nil ? nil : "a phone reads what was cut off" }
    guard let read else { return "a phone does not read \(bytes)" }
    // Flags are one byte each; what has no meaning is written as 0.
    let told = [bytes[0], bytes[1], bytes[2] > 0 ? 1 : 0, bytes[3] % 2] + bytes[4..<10] + [0, 0]
    let fields: [UInt8] =
      [read.motions, read.backpacks, read.isInBackpack ? 1 : 0, read.timeIsValid ? 1 : 0]
      + LittleEndian.bytes(read.sessionStart, 4) + LittleEndian.bytes(read.timerWakes, 2) + [0, 0]
    return fields == told && read.bytes == told ? nil : "a phone reads \(read) from \(bytes)"
  }

  private static func rewritten<Entry: BottleActivityEntry>(
    _ bytes: [UInt8], _ entry: Entry.Type
  ) -> [UInt8]? {
    (try? BottleActivityChunk<Entry>(bytes))?.bytes
  }

  private static func told(motions bytes: [UInt8]) -> [UInt8]? {
    guard let read = try? BottleActivityChunk<BottleMotion>(bytes) else { return nil }
    var all = [read.index, read.total, UInt8(read.entries.count), 0]
    for entry in read.entries {
      all += LittleEndian.bytes(entry.time, 4) + LittleEndian.bytes(entry.seconds, 2)
      all.append(entry.cause == .motion ? 0 : entry.cause == .timer ? 1 : 2)
      all.append((entry.sleptExtended ? 1 : 0) + (entry.drank ? 0x80 : 0))
    }
    return all
  }

  private static func told(backpacks bytes: [UInt8]) -> [UInt8]? {
    guard let read = try? BottleActivityChunk<BottleBackpack>(bytes) else { return nil }
    var all = [read.index, read.total, UInt8(read.entries.count), 0]
    for entry in read.entries {
      all += LittleEndian.bytes(entry.start, 4) + LittleEndian.bytes(entry.seconds, 4)
      all += LittleEndian.bytes(entry.wakes, 2)
      all += [entry.exit == .motion ? 0 : entry.exit == .active ? 1 : 2, entry.flags]
    }
    return all
  }

  // The names of characteristics.

  /// The numbers in the UUIDs of the bottle's characteristics, by contracts 3.1.
  private static let numbers: [(BottleAttribute, UInt64)] = [
    (.state, 1), (.configuration, 2), (.syncControl, 3), (.drinks, 4), (.command, 5),
    (.settings, 6), (.activity, 7), (.calibration, 8),
  ]

  /// Returns which characteristic a phone does not know by its UUID.
  static func strayName() -> String? {
    // The battery's are in the base UUID of the Bluetooth SIG.
    let own: UInt64 = 0x6F75_616B_7661_7465
    var names = numbers.map { ($0.0, GATTID(high: own, low: 0x2D00_0000_0000_0000 + $0.1)) }
    names.append((.battery, GATTID(high: 0x0000_2A19_0000_1000, low: 0x8000_0080_5F9B_34FB)))
    let stray = names.first { $0.0.id != $0.1 || BottleAttribute(id: $0.1) != $0.0 }
    if let stray { return "a phone knows \(stray.0) as \(stray.0.id)" }
    let isKnown =
      BottleAttribute.service == GATTID(high: own, low: 0x2D00_0000_0000_0000)
      && BottleAttribute.batteryService
        == GATTID(high: 0x0000_180F_0000_1000, low: 0x8000_0080_5F9B_34FB)
    return isKnown ? nil : "a phone looks for other services"
  }
}
