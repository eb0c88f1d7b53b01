/// A summary of a bottle's activities. It is one of the values of characteristic 0007.
///
/// The value does not contain its kind. The kind follows from the command that requested the value.
package struct BottleActivity: Sendable, Hashable, Codable {
  /// The number of times that motion woke the bottle.
  package var motions: UInt8
  /// The number of times that the bottle was in a backpack.
  package var backpacks: UInt8
  /// Whether the bottle is in a backpack now.
  package var isInBackpack: Bool
  /// Whether the bottle's clock has been set: bit 0 of byte 3.
  package var timeIsValid: Bool
  /// The start of the current session, in seconds since 1970.
  package var sessionStart: UInt32
  /// The number of times that a timer woke the bottle.
  package var timerWakes: UInt16

  package init(
    motions: UInt8, backpacks: UInt8, isInBackpack: Bool = false, timeIsValid: Bool = false,
    sessionStart: UInt32 = 0, timerWakes: UInt16 = 0
  ) {
    (self.motions, self.backpacks, self.isInBackpack) = (motions, backpacks, isInBackpack)
    (self.timeIsValid, self.sessionStart) = (timeIsValid, sessionStart)
    self.timerWakes = timerWakes
  }

  /// Creates a summary from its 12 bytes.
  package init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("activity", bytes, count: 12)
    (motions, backpacks) = (reader.byte(), reader.byte())
    isInBackpack = reader.byte() != 0
    timeIsValid = reader.byte() & 1 == 1
    sessionStart = reader.word()
    timerWakes = reader.short()
  }

  /// The 12 bytes of the summary.
  package var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.byte(motions)
    writer.byte(backpacks)
    writer.byte(isInBackpack ? 1 : 0)
    writer.byte(timeIsValid ? 1 : 0)
    writer.word(sessionStart)
    writer.short(timerWakes)
    writer.short(0)
    return writer.bytes
  }
}

/// A part of a list of activities.
package struct BottleActivityChunk<Entry: BottleActivityEntry>: Sendable, Hashable, Codable {
  /// The index of the chunk, from 0.
  package var index: UInt8
  /// The number of chunks in the complete list.
  package var total: UInt8
  /// The entries of this chunk, at most `Entry.longest`.
  package var entries: [Entry]

  package init(index: UInt8, total: UInt8, entries: [Entry]) {
    (self.index, self.total, self.entries) = (index, total, entries)
  }

  /// Creates a chunk from its 4 bytes and the bytes of its entries.
  package init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("activity chunk", bytes, atLeast: 4)
    (index, total) = (reader.byte(), reader.byte())
    let count = Int(reader.byte())
    _ = reader.byte()
    guard count <= Entry.longest, reader.rest == count * Entry.count else {
      throw reader.fault("\(bytes.count) bytes for \(count) entries")
    }
    entries = []
    for _ in 0..<count { entries.append(try Entry(&reader)) }
  }

  /// The bytes of the chunk.
  package var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.byte(index)
    writer.byte(total)
    writer.byte(UInt8(truncatingIfNeeded: entries.count))
    writer.byte(0)
    for entry in entries { entry.write(to: &writer) }
    return writer.bytes
  }
}

/// An entry of a list of activities.
package protocol BottleActivityEntry: Sendable, Hashable, Codable {
  /// The maximum number of entries in a chunk.
  static var longest: Int { get }
  /// The number of bytes in one entry.
  static var count: Int { get }
  init(_ bytes: [UInt8]) throws(BottleFormatError)
  /// The bytes of the entry.
  var bytes: [UInt8] { get }
}

extension BottleActivityEntry {
  fileprivate init(_ reader: inout PackedReader) throws(BottleFormatError) {
    var bytes: [UInt8] = []
    for _ in 0..<Self.count { bytes.append(reader.byte()) }
    try self.init(bytes)
  }

  fileprivate func write(to writer: inout PackedWriter) {
    for byte in bytes { writer.byte(byte) }
  }
}

/// A wake-up of a bottle.
package struct BottleMotion: BottleActivityEntry {
  /// The time at which the bottle woke, in seconds since 1970.
  package var time: UInt32
  /// The time for which the bottle was awake, in seconds.
  package var seconds: UInt16
  /// The cause of the wake-up: byte 6 of the entry.
  package var cause: Cause
  /// Whether the bottle then entered extended sleep.
  package var sleptExtended: Bool
  /// Whether a drink was taken.
  package var drank: Bool

  /// The cause of a wake-up.
  package enum Cause: UInt8, Sendable, Hashable, Codable, CaseIterable {
    case motion, timer, power
  }

  /// The maximum number of entries in a chunk: 10.
  package static let longest = 10
  /// The length of one transmitted entry: 8 bytes.
  package static let count = 8

  package init(time: UInt32, seconds: UInt16, cause: Cause, sleptExtended: Bool, drank: Bool) {
    (self.time, self.seconds, self.cause) = (time, seconds, cause)
    (self.sleptExtended, self.drank) = (sleptExtended, drank)
  }

  package init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("motion", bytes, count: Self.count)
    (time, seconds) = (reader.word(), reader.short())
    let (cause, sleep) = (reader.byte(), reader.byte())
    guard let known = Cause(rawValue: cause) else {
      throw reader.fault("an unknown cause \(cause)")
    }
    self.cause = known
    sleptExtended = sleep & 0x7F == 1
    drank = sleep & 0x80 != 0
  }

  package var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.word(time)
    writer.short(seconds)
    writer.byte(cause.rawValue)
    writer.byte((sleptExtended ? 1 : 0) | (drank ? 0x80 : 0))
    return writer.bytes
  }
}

/// A period that a bottle spent in a backpack.
package struct BottleBackpack: BottleActivityEntry {
  /// The start of the period, in seconds since 1970.
  package var start: UInt32
  /// The length of the period, in seconds.
  package var seconds: UInt32
  /// The number of times that a timer woke the bottle.
  package var wakes: UInt16
  /// The cause of the end: byte 10 of the entry.
  package var exit: Exit
  /// Flags whose meaning is unknown: byte 11 of the entry. They are preserved unchanged.
  package var flags: UInt8

  /// The cause of the end of a period in a backpack.
  package enum Exit: UInt8, Sendable, Hashable, Codable, CaseIterable {
    case motion, active, power
  }

  /// The maximum number of entries in a chunk: 5.
  package static let longest = 5
  /// The length of one transmitted entry: 12 bytes.
  package static let count = 12

  package init(start: UInt32, seconds: UInt32, wakes: UInt16, exit: Exit, flags: UInt8 = 0) {
    (self.start, self.seconds, self.wakes) = (start, seconds, wakes)
    (self.exit, self.flags) = (exit, flags)
  }

  package init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("backpack", bytes, count: Self.count)
    (start, seconds, wakes) = (reader.word(), reader.word(), reader.short())
    let exit = reader.byte()
    guard let known = Exit(rawValue: exit) else { throw reader.fault("an unknown exit \(exit)") }
    self.exit = known
    flags = reader.byte()
  }

  package var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.word(start)
    writer.word(seconds)
    writer.short(wakes)
    writer.byte(exit.rawValue)
    writer.byte(flags)
    return writer.bytes
  }
}
