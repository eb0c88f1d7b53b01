public import LinkCore

/// A drink or a refill, as a bottle records it.
public struct BottleRecord: Sendable, Hashable, Codable {
  /// Only grows on one bottle, until its memory is erased.
  public var id: UInt32
  /// Seconds since 1970; below `validTimes` if the bottle did not know the time.
  public var time: UInt32
  /// In millilitres; negative for a refill.
  public var amount: Int16
  /// What was in the bottle afterwards, in millilitres.
  public var level: UInt16
  /// 0 for a gulp of less than 100 ml, 1 for a pour; others are kept as they are.
  public var kind: UInt8
  /// What became of it, byte 13 of the record.
  public var flags: Flags

  /// What became of a record.
  public struct Flags: OptionSet, Sendable, Hashable, Codable {
    /// The bits as on the air; unknown ones are kept.
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// A phone acknowledged the record.
    public static let isSynced = Flags(rawValue: 0x01)
    /// The record is the first one of its day.
    public static let beginsDay = Flags(rawValue: 0x02)
    /// The record was deleted and no longer counts.
    public static let isDeleted = Flags(rawValue: 0x04)
  }

  /// The times that a clock which was set can show: from 2020-01-01, before the first bottle.
  public static let validTimes: ClosedRange<UInt32> = 1_577_836_800...UInt32.max

  /// The bytes of one record on the air.
  static let count = 14

  public init(
    id: UInt32, time: UInt32, amount: Int16, level: UInt16, kind: UInt8 = 0, flags: Flags = []
  ) {
    (self.id, self.time, self.amount) = (id, time, amount)
    (self.level, self.kind, self.flags) = (level, kind, flags)
  }

  /// When it happened; `nil` if the bottle did not know the time.
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

/// A part of a synchronisation: some records (characteristic 0004).
public struct BottleChunk: Sendable, Hashable, Codable {
  /// From 0.
  public var index: UInt16
  /// How many chunks there are.
  public var total: UInt16
  /// The records of this chunk, at most `longest`.
  public var records: [BottleRecord]

  /// The most records of one chunk that a bottle sends.
  public static let longest = 20

  public init(index: UInt16, total: UInt16, records: [BottleRecord]) {
    (self.index, self.total, self.records) = (index, total, records)
  }

  /// Whether it is the value that a bottle has before its first synchronisation: it says nothing.
  public var isBlank: Bool { total == 0 }

  /// Reads 6 bytes and 14 for each record.
  ///
  /// - Throws: if the length does not fit the count, as for a chunk that was cut off on the way.
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

  /// Its bytes.
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

/// The control of a synchronisation (characteristic 0003).
package struct BottleSync: Sendable, Hashable, Codable {
  /// The index of the first record that is asked for; 0 in a request of this phone.
  package var start: UInt16
  /// How many records are asked for.
  package var count: UInt16
  /// What the phone asks for, byte 4.
  package var command: Command
  package var status: Status
  /// The most records of one chunk.
  package var chunkSize: UInt16

  /// What the phone asks for.
  package enum Command: UInt8, Sendable, Hashable, Codable, CaseIterable {
    case query, start, acknowledge
  }

  /// Where the bottle stands.
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

  /// Acknowledges the chunk that came last; all other fields are 0.
  package static let acknowledgement = BottleSync(command: .acknowledge)

  /// Asks for records.
  ///
  /// - Parameter longestValue: the longest value that a notification can carry, in bytes: what is
  ///   longer is cut off by the bottle's radio without a word.
  package static func request(count: UInt16, longestValue: Int) -> BottleSync {
    BottleSync(
      count: count, command: .start, chunkSize: UInt16(chunkSize(longestValue: longestValue)))
  }

  /// The records that fit one notification, 1 to 20: (MTU - 9) / 14 for a value of MTU - 3 bytes.
  package static func chunkSize(longestValue: Int) -> Int {
    min(max((longestValue - 6) / BottleRecord.count, 1), BottleChunk.longest)
  }

  /// Reads 8 bytes.
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

  /// Its 8 bytes.
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
