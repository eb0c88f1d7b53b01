/// An error that is thrown for a value of a bottle that cannot be read.
public struct BottleFormatError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The name of the value.
  public let value: String
  /// The reason why the value cannot be read.
  public let detail: String

  init(_ value: String, _ detail: String) {
    (self.value, self.detail) = (value, detail)
  }

  public var description: String { "\(value): \(detail)" }
}

/// A reader of little-endian numbers without padding, as in the bottle's packed structures.
struct PackedReader {
  private let name: String
  private let bytes: [UInt8]
  private var next = 0

  /// Creates a reader of a value that has exactly `count` bytes.
  init(_ name: String, _ bytes: [UInt8], count: Int) throws(BottleFormatError) {
    try self.init(name, bytes, atLeast: count)
    guard bytes.count == count else {
      throw Self.wrongSize(name, bytes.count, count)
    }
  }

  /// Creates a reader of a value that has at least `count` bytes.
  init(_ name: String, _ bytes: [UInt8], atLeast count: Int) throws(BottleFormatError) {
    guard bytes.count >= count else {
      throw Self.wrongSize(name, bytes.count, count)
    }
    (self.name, self.bytes) = (name, bytes)
  }

  private static func wrongSize(_ name: String, _ found: Int, _ count: Int) -> BottleFormatError {
    BottleFormatError(name, "\(found) \(found == 1 ? "byte" : "bytes") instead of \(count)")
  }

  /// The number of bytes that have not been read yet.
  var rest: Int { bytes.count - next }

  mutating func byte() -> UInt8 {
    next += 1
    return bytes[next - 1]
  }

  mutating func short() -> UInt16 { UInt16(byte()) | UInt16(byte()) << 8 }

  mutating func word() -> UInt32 { UInt32(short()) | UInt32(short()) << 16 }

  mutating func signedShort() -> Int16 { Int16(bitPattern: short()) }

  mutating func signedWord() -> Int32 { Int32(bitPattern: word()) }

  mutating func number() throws(BottleFormatError) -> Float {
    let number = Float(bitPattern: word())
    guard number.isFinite else { throw fault("a factor that is not a finite number") }
    return number
  }

  func fault(_ detail: String) -> BottleFormatError { BottleFormatError(name, detail) }
}

/// A writer of little-endian numbers without padding.
struct PackedWriter {
  private(set) var bytes: [UInt8] = []

  mutating func byte(_ value: UInt8) { bytes.append(value) }

  mutating func short(_ value: UInt16) {
    bytes.append(UInt8(truncatingIfNeeded: value))
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
  }

  mutating func word(_ value: UInt32) {
    short(UInt16(truncatingIfNeeded: value))
    short(UInt16(truncatingIfNeeded: value >> 16))
  }
}
