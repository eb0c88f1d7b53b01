import LinkCore

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
}

/// Little-endian numbers in bytes.
enum LittleEndian {
  static func bytes(_ number: some BinaryInteger, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
