/// How many connections each address holds that have not become WebSockets.
///
/// Whoever speaks only HTTP may be anybody; a WebSocket was let in by the handler, which has rules
/// of its own for their number.
struct Crowd {
  /// Connections of one address; a further one is turned away.
  let bound: Int
  private var counts: [Origin: Int] = [:]

  init(bound: Int) {
    self.bound = bound
  }

  /// Counts one more connection; false when the address holds as many as it may.
  mutating func enter(_ origin: Origin) -> Bool {
    let count = counts[origin, default: 0]
    guard count < bound else { return false }
    counts[origin] = count + 1
    return true
  }

  mutating func leave(_ origin: Origin) {
    let left = counts[origin, default: 1] - 1
    counts[origin] = left > 0 ? left : nil
  }
}

/// Where connections of one client come from: an IPv4 address, or the upper half of an IPv6 one.
///
/// A client may pick the lower 64 bits as it likes (RFC 4291 section 2.5.1).
struct Origin: Hashable {
  var bytes: [UInt8]

  /// Two hexadecimal digits a byte.
  var text: String {
    bytes.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
  }
}
