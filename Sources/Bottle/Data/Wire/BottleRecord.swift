public import HoldfastCore

/// A bottle's record of a drink or a refill.
public struct BottleRecord: Sendable, Hashable, Codable {
  /// The id. The ids of one bottle increase until its memory is erased.
  public var id: UInt32
  /// The time in seconds since 1970. It is below `validTimes` if the bottle's clock was not set.
  public var time: UInt32
  /// The amount in milliliters. It is negative for a refill.
  public var amount: Int16
  /// The level after the drink or refill, in milliliters.
  public var level: UInt16
  /// The kind: 0 for a gulp of less than 100 ml, 1 for a pour. Other values are preserved.
  public var kind: UInt8
  /// The flags of the record: byte 13.
  public var flags: Flags

  /// The flags of a record.
  public struct Flags: OptionSet, Sendable, Hashable, Codable {
    /// The transmitted bits. Unknown bits are preserved.
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// The flag of a record that a phone acknowledged.
    public static let isSynced = Flags(rawValue: 0x01)
    /// The flag of the first record of its day.
    public static let beginsDay = Flags(rawValue: 0x02)
    /// The flag of a record that was deleted. Such a record no longer counts.
    public static let isDeleted = Flags(rawValue: 0x04)
  }

  /// The times that a set clock can show: from 2020-01-01, before the first bottle was made, to
  /// 2106.
  public static let validTimes: ClosedRange<UInt32> = 1_577_836_800...UInt32.max

  /// The length of one transmitted record, in bytes.
  static let count = 14

  public init(
    id: UInt32, time: UInt32, amount: Int16, level: UInt16, kind: UInt8 = 0, flags: Flags = []
  ) {
    (self.id, self.time, self.amount) = (id, time, amount)
    (self.level, self.kind, self.flags) = (level, kind, flags)
  }

  /// The time of the record, or `nil` if the bottle's clock was not set.
  public var timestamp: Timestamp? {
    Self.validTimes.contains(time)
      ? Timestamp(nanoseconds: Int64(time) * 1_000_000_000) : nil
  }

  init(_ reader: inout PackedReader) {
    id = reader.word()
    time = reader.word()
    amount = reader.signedShort()
    level = reader.short()
    kind = reader.byte()
    flags = Flags(rawValue: reader.byte())
  }

  func write(to writer: inout PackedWriter) {
    writer.word(id)
    writer.word(time)
    writer.short(UInt16(bitPattern: amount))
    writer.short(level)
    writer.byte(kind)
    writer.byte(flags.rawValue)
  }
}

/// A chunk of the records of a synchronization (characteristic 0004).
public struct BottleChunk: Sendable, Hashable, Codable {
  /// The index of the chunk, from 0.
  public var index: UInt16
  /// The number of chunks in the synchronization.
  public var total: UInt16
  /// The records of this chunk, at most `longest`.
  public var records: [BottleRecord]

  /// The maximum number of records in a chunk from a bottle.
  public static let longest = 20

  public init(index: UInt16, total: UInt16, records: [BottleRecord]) {
    (self.index, self.total, self.records) = (index, total, records)
  }

  /// Whether this is the value that a bottle has before its first synchronization. It contains no
  /// information.
  public var isBlank: Bool { total == 0 }

  /// Creates a chunk from its 6 bytes and 14 bytes for each record.
  ///
  /// - Throws: An error if the length does not match the count, for example if the chunk is
  ///   truncated.
  public init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("chunk", bytes, atLeast: 6)
    index = reader.short()
    total = reader.short()
    let count = Int(reader.byte())
    _ = reader.byte()
    guard reader.rest == count * BottleRecord.count else {
      throw reader.fault("\(bytes.count) bytes for \(count) records")
    }
    guard count <= Self.longest else { throw reader.fault("\(count) records, more than 20") }
    records = (0..<count).map { _ in BottleRecord(&reader) }
  }

  /// The bytes of the chunk.
  public var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.short(index)
    writer.short(total)
    writer.byte(UInt8(truncatingIfNeeded: records.count))
    writer.byte(0)
    for record in records { record.write(to: &writer) }
    return writer.bytes
  }
}

/// The control of a synchronization (characteristic 0003).
package struct BottleSync: Sendable, Hashable, Codable {
  /// The index of the first requested record. It is 0 in the requests of this package.
  package var start: UInt16
  /// The number of requested records.
  package var count: UInt16
  /// The phone's command: byte 4.
  package var command: Command
  package var status: Status
  /// The maximum number of records in a chunk.
  package var chunkSize: UInt16

  /// A command of the phone.
  package enum Command: UInt8, Sendable, Hashable, Codable, CaseIterable {
    case query, start, acknowledge
  }

  /// The bottle's status.
  package enum Status: UInt8, Sendable, Hashable, Codable, CaseIterable {
    case idle, inProgress, complete
  }

  package init(
    start: UInt16 = 0, count: UInt16 = 0, command: Command = .query, status: Status = .idle,
    chunkSize: UInt16 = 0
  ) {
    (self.start, self.count, self.command) = (start, count, command)
    (self.status, self.chunkSize) = (status, chunkSize)
  }

  /// The acknowledgement of the most recent chunk. All other fields are 0.
  package static let acknowledgement = BottleSync(command: .acknowledge)

  /// Returns a request for records.
  ///
  /// - Parameter longestValue: The maximum size of a notification's value, in bytes. The bottle's
  ///   radio truncates longer values without an error.
  package static func request(count: UInt16, longestValue: Int) -> BottleSync {
    BottleSync(
      count: count, command: .start, chunkSize: UInt16(chunkSize(longestValue: longestValue)))
  }

  /// Returns the number of records that fit into one notification, from 1 to 20.
  ///
  /// For a value of MTU - 3 bytes, the number is (MTU - 9) / 14.
  package static func chunkSize(longestValue: Int) -> Int {
    min(max((longestValue - 6) / BottleRecord.count, 1), BottleChunk.longest)
  }

  /// Creates the control of a synchronization from its 8 bytes.
  package init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("sync control", bytes, count: 8)
    start = reader.short()
    count = reader.short()
    let (command, status) = (reader.byte(), reader.byte())
    chunkSize = reader.short()
    guard let known = Command(rawValue: command) else {
      throw reader.fault("an unknown command \(command)")
    }
    guard let state = Status(rawValue: status) else {
      throw reader.fault("an unknown status \(status)")
    }
    (self.command, self.status) = (known, state)
  }

  /// The 8 bytes of the control.
  package var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.short(start)
    writer.short(count)
    writer.byte(command.rawValue)
    writer.byte(status.rawValue)
    writer.short(chunkSize)
    return writer.bytes
  }
}
