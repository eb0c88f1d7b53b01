/// A reader that converts an Apple Health `export.xml` of any size to batches of samples.
///
/// Pass bytes to `append`, then call `next` until it returns `nil`, and repeat. Call `finish` after
/// the last bytes. In addition to the appended bytes, the reader holds one batch and less than 64
/// KiB of bytes. It fails only if the bytes are not an export. `counts` contains the number of
/// parts that it cannot use.
public struct HealthExportReader: Sendable {
  private var buffer: [UInt8] = []
  private var consumed = 0
  private var isLast = false
  /// Whether the first bytes have been checked.
  private var hasBegun = false
  private var parser = ExportParser()

  public init() {}

  /// The counts of the parts that have been read so far.
  public var counts: ExportCounts { parser.counts }

  /// Appends the next bytes, preferably after `next` has returned `nil`.
  public mutating func append(_ bytes: Span<UInt8>) {
    buffer.removeSubrange(..<consumed)
    consumed = 0
    // XML contains no NUL (XML 1.0, production 2), so a NUL shows that a block of the file was lost
    // on the disk or in a download.
    if !counts.isDamaged, bytes.next(0, from: 0) < bytes.count { parser.noteDamage() }
    buffer.reserveCapacity(buffer.count + bytes.count)
    unsafe bytes.withUnsafeBufferPointer { unsafe buffer.append(contentsOf: $0) }
  }

  /// Marks the end of the bytes.
  public mutating func finish() { isLast = true }

  /// Returns the next samples, or `nil` if more bytes are needed or the end has been reached.
  ///
  /// - Throws: An error if the bytes are not an export. Every later call throws the same error.
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

  /// Returns whether a file that begins with these bytes is an export, regardless of its name.
  ///
  /// - Parameter start: The first bytes of the file. 4 KiB are enough.
  public static func isExport(_ start: Span<UInt8>) -> Bool {
    start.next("<!DOCTYPE HealthData", from: 0) != nil || start.next("<HealthData", from: 0) != nil
  }
}
