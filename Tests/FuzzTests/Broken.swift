/// A promise that some bytes broke.
struct Broken: Error, Equatable, CustomStringConvertible {
  var promise: String

  init(_ promise: String) {
    self.promise = promise
  }

  var description: String { "broken: \(promise)" }
}

/// Demands that a promise is kept.
func hold(_ isKept: Bool, _ promise: @autoclosure () -> String) throws(Broken) {
  guard isKept else { throw Broken(promise()) }
}

/// What a decoder makes of bytes must not depend on how they came.
///
/// Compares what `read` gives for all at once, octet by octet, and in pieces of changing length.
func sameHoweverCut<Value: Equatable>(
  _ bytes: [UInt8], _ read: ([[UInt8]]) -> Value
) throws(Broken) -> Value {
  let whole = read([bytes])
  try hold(read(bytes.map { [$0] }) == whole, "octet by octet is as all at once")
  try hold(read(Cut.pieces(bytes)) == whole, "in pieces is as all at once")
  return whole
}

enum Cut {
  /// Pieces of 1 to 16 octets, chosen by the bytes themselves, so that an input stays its own seed.
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

/// Takes the choices of an input from its front; what is left is the data.
struct Choices {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) {
    rest = bytes[...]
  }

  var isEmpty: Bool { rest.isEmpty }

  /// The next octet; 0 behind the end.
  mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

  /// Up to `count` octets.
  mutating func take(_ count: Int) -> [UInt8] {
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Eight octets as a number, the first highest.
  mutating func word() -> UInt64 { take(8).reduce(0) { $0 << 8 | UInt64($1) } }

  /// Octets behind a length of one octet, as text; what is not UTF-8 in it is replaced.
  mutating func text() -> String { String(decoding: take(Int(byte())), as: UTF8.self) }
}
