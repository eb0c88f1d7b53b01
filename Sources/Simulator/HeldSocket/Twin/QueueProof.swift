import LinkCore

/// The messages of a socket until their arrival is proven, told a second time: each with whether a
/// store and the present connection have it (the diagram of `ProvenQueue`).
struct QueueProof {
  /// A message with all that is known of it.
  struct Row {
    var id: UInt64
    var message: SocketMessage
    var isStored: Bool
    var isHanded = false
    /// The ping that stands behind it.
    var ping: UInt64?
  }

  var rows: [Row] = []
  var deadline: Instant?
  private var greatest: UInt64 = 0
  private var pings: UInt64 = 0

  /// A MiB is 1,048,576 bytes.
  private static let mebibyte = 1_048_576

  var bytes: Int { rows.map { $0.message.count }.reduce(0, +) }
  var handed: Int { rows.filter { $0.isHanded }.count }

  func refusal(_ message: SocketMessage) -> ProvenQueue.Refusal? {
    if message.count >= 1_000_001 { return .tooLong(bytes: message.count) }
    if rows.count >= 1_000 { return .full }
    return bytes + message.count > 16 * Self.mebibyte ? .full : nil
  }

  mutating func restore(_ kept: [ProvenQueue.Entry]) {
    for entry in kept {
      rows.append(Row(id: entry.id, message: entry.message, isStored: true))
      if entry.id > greatest { greatest = entry.id }
    }
  }

  mutating func add(_ message: SocketMessage, isStored: Bool) -> UInt64 {
    greatest = greatest == .max ? 0 : greatest + 1
    rows.append(Row(id: greatest, message: message, isStored: isStored))
    return greatest
  }

  mutating func noteStored(_ id: UInt64) {
    for place in rows.indices where rows[place].id == id { rows[place].isStored = true }
  }

  mutating func drop(_ id: UInt64) { rows.removeAll { $0.id == id && !$0.isStored } }

  mutating func take() -> [SocketMessage] {
    var taken: [SocketMessage] = []
    var (count, size) = (0, 0)
    for place in rows.indices {
      size += rows[place].message.count
      count += 1
      if rows[place].isHanded { continue }
      // A message that is longer than the window goes alone.
      let fits = count == 1 || size <= Self.mebibyte / 4
      guard rows[place].isStored, count <= 64, fits else { break }
      rows[place].isHanded = true
      taken.append(rows[place].message)
    }
    return taken
  }

  mutating func ask(_ until: Instant) -> UInt64? {
    if deadline != nil || handed == 0 { return nil }
    pings += 1
    let ping = 4_294_967_296 + pings
    for place in rows.indices where rows[place].isHanded { rows[place].ping = ping }
    deadline = until
    return ping
  }

  /// Removes what stands before a ping.
  mutating func proven(_ ping: UInt64) -> [UInt64] {
    let gone = rows.filter { $0.ping == ping }.map { $0.id }
    guard !gone.isEmpty else { return [] }
    rows.removeAll { $0.ping == ping }
    deadline = nil
    return gone
  }

  mutating func expire() -> Int {
    let count = rows.filter { $0.ping != nil }.count
    rows.removeAll { $0.ping != nil }
    deadline = nil
    return count
  }

  mutating func interrupt(repeats: Bool) -> Int {
    let count = handed
    if !repeats { rows.removeAll { $0.isHanded } }
    for place in rows.indices { (rows[place].isHanded, rows[place].ping) = (false, nil) }
    deadline = nil
    return count
  }
}
