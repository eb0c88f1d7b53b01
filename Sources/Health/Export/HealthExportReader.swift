/// Reads an Apple Health `export.xml` of any size: bytes in, batches of samples out.
///
/// Give it bytes with `append`, take batches with `next` until there is none, and so on; `finish`
/// after the last bytes. It holds one batch and less than 64 KiB of bytes besides what was
/// appended. Nothing that an export may hold makes it fail but that it is none; what it cannot use
/// is counted in `tally`.
public struct HealthExportReader: Sendable {
  private var buffer: [UInt8] = []
  private var consumed = 0
  private var isLast = false
  /// Whether its first bytes were looked at.
  private var hasBegun = false
  private var parser = ExportParser()

  public init() {}

  /// What was found so far.
  public var tally: HealthExportTally { parser.tally }

  /// Takes the next bytes; best after `next` has answered `nil`.
  public mutating func append(_ bytes: Span<UInt8>) {
    buffer.removeSubrange(..<consumed)
    consumed = 0
    // XML holds no NUL (XML 1.0, production 2): a block of a disk or of a download is missing.
    if !tally.isDamaged, bytes.next(0, from: 0) < bytes.count { parser.noteDamage() }
    buffer.reserveCapacity(buffer.count + bytes.count)
    unsafe bytes.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
  }

  /// Says that no more bytes come.
  public mutating func finish() { isLast = true }

  /// The next samples; `nil` when it needs more bytes, or has come to the end.
  ///
  /// - Throws: when the bytes are no export; then for good.
  public mutating func next() throws(HealthExportError) -> HealthBatch? {
    if !hasBegun {
      guard buffer.count >= ExportDisguise.length || isLast else { return nil }
      if let disguise = ExportDisguise(buffer.prefix(ExportDisguise.length)) {
        throw .disguised(disguise)
      }
      hasBegun = true
    }
    consumed = parser.run(buffer, from: consumed, isLast: isLast)
    return try parser.take(isLast: isLast)
  }

  /// Whether a file that begins like this is an export, whatever its name.
  ///
  /// - Parameter start: Its first bytes; 4 KiB are enough.
  public static func isExport(_ start: Span<UInt8>) -> Bool {
    start.next("<!DOCTYPE HealthData", from: 0) != nil || start.next("<HealthData", from: 0) != nil
  }
}
