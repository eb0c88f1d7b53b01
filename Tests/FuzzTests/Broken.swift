/// An error for a promise that an input broke.
struct Broken: Error, Equatable, CustomStringConvertible {
  var promise: String

  init(_ promise: String) {
    self.promise = promise
  }

  var description: String { "broken: \(promise)" }
}

/// Checks that a promise is kept.
func hold(_ isTrue: Bool, _ promise: @autoclosure () -> String) throws(Broken) {
  guard isTrue else { throw Broken(promise()) }
}

/// Checks that a decoder's result does not depend on how its input is split.
///
/// Compares the results of `read` for the input as a whole, octet by octet, and in pieces of
/// varying length.
func sameHoweverCut<Value: Equatable>(
  _ bytes: [UInt8], _ read: ([[UInt8]]) -> Value
) throws(Broken) -> Value {
  let whole = read([bytes])
  try hold(read(bytes.map { [$0] }) == whole, "octet by octet gives the same as all at once")
  try hold(read(Cut.pieces(bytes)) == whole, "in pieces gives the same as all at once")
  return whole
}

enum Cut {
  /// Returns pieces of 1 to 16 octets. A hash of the input determines the lengths, so that each
  /// input is reproducible.
  static func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    // FNV-1a.
    var hash: UInt32 = 0x811C_9DC5
    for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + 1 + Int(hash >> 28))
      pieces.append(Array(bytes[start..<end]))
      hash = hash &* 0x0100_0193 &+ 1
      start = end
    }
    return pieces
  }
}

/// A reader that takes choices from the front of an input. The rest is the data.
struct Choices {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  var isEmpty: Bool { rest.isEmpty }

  /// Returns the next octet, or 0 after the end.
  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Returns up to `count` octets.
  mutating func take(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Returns the next eight octets as a big-endian number.
  mutating func word() -> UInt64 { take(8).reduce(0) { $0 << 8 | UInt64($1) } }

  /// Returns octets preceded by a length of one octet, as text. Invalid UTF-8 is replaced.
  mutating func text() -> String { String(decoding: take(Int(byte())), as: UTF8.self) }
}
