/// An error that names the promise that an input broke.
struct Broken: Error, Equatable, CustomStringConvertible {
  var promise: String

  init(_ promise: String) {
    self.promise = promise
  }

  var description: String { "broken: \(promise)" }
}

/// Throws an error if a promise is not kept.
func hold(_ isTrue: Bool, _ promise: @autoclosure () -> String) throws(Broken) {
  guard isTrue else { throw Broken(promise()) }
}

/// Checks that a decoder's result does not depend on how its input is split.
///
/// The function compares the results of `read` for the whole input, single octets, and pieces of
/// varying lengths.
func sameHoweverCut<Value: Equatable>(
  _ bytes: [UInt8], _ read: ([[UInt8]]) -> Value
) throws(Broken) -> Value {
  let whole = read([bytes])
  try hold(read(bytes.map { [$0] }) == whole, "octet by octet gives the same as all at once")
  try hold(read(Cut.pieces(bytes)) == whole, "in pieces gives the same as all at once")
  return whole
}

enum Cut {
  /// Returns the input in pieces of 1 to 16 octets. A hash of the input determines the lengths, so
  /// that failures are reproducible.
  static func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    // The hash is FNV-1a.
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

/// A reader that takes choices from the start of an input. The remaining bytes are the data.
struct Choices {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  var isEmpty: Bool { rest.isEmpty }

  /// Returns the next octet, or 0 at the end.
  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Returns up to `count` octets.
  mutating func take(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Returns the next eight octets as a big-endian number.
  mutating func word() -> UInt64 { take(8).reduce(0) { $0 << 8 | UInt64($1) } }

  /// Returns a text that is preceded by its length in one octet. Invalid UTF-8 is replaced.
  mutating func text() -> String { String(decoding: take(Int(byte())), as: UTF8.self) }
}
