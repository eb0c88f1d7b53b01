/// The number of connections of each client that have not become WebSockets, by the origin of the
/// client's address.
///
/// A WebSocket was accepted by the handler, which has its own rules for their number.
struct Crowd {
  /// Connections of one address; a further one is turned away.
  let bound: Int
  private var counts: [String: Int] = [:]

  init(bound: Int) {
    self.bound = bound
  }

  /// Counts one more connection; false when the address holds as many as it may.
  mutating func enter(_ origin: String) -> Bool {
    let count = counts[origin, default: 0]
    guard count < bound else { return false }
    counts[origin] = count + 1
    return true
  }

  mutating func leave(_ origin: String) {
    let left = counts[origin, default: 1] - 1
    counts[origin] = left > 0 ? left : nil
  }
}
