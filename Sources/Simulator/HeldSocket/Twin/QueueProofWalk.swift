import LinkCore

/// Queues of messages that wait for a proof, in steps by chance beside their second account.
struct QueueProofWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  private var queue = ProvenQueue()
  var proof = QueueProof()
  var disk = KeptOutbox()
  private var kept: [ProvenQueue.Entry] = []
  private var lastPing: UInt64 = 0

  private static let small = [0, 1, 4_096].map { SocketMessage(binary: .zeros($0)) }
  private static let large = [65_536, 131_072, 196_608, 262_144, 262_145]
    .map { SocketMessage(text: .zeros($0)) }
  private static let longest = SocketMessage(text: .zeros(1_000_000))
  private static let tooLong = SocketMessage(binary: .zeros(1_000_001))
  /// 16 of the longest messages and this one are 16 MiB.
  private static let rest = SocketMessage(text: .zeros(777_216))

  init(_ chance: Chance) { self.chance = chance }

  /// Takes so many steps with a new queue; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    restore()
    for _ in 0..<steps where stray == nil {
      let what = step()
      look(after: what)
    }
    return stray
  }

  /// What an earlier run left: nothing, a few, about a window of them, or as much as may wait.
  private mutating func restore() {
    var messages: [SocketMessage] = []
    switch number(0...15) {
    case 0: messages = Array(repeating: Self.small[0], count: number(998...1_000))
    case 1...2: messages = Array(repeating: Self.longest, count: 16)
    case 3...6: messages = Array(repeating: Self.small[number(0...2)], count: number(61...66))
    case 7...11: messages = (0..<number(1...3)).map { _ in message() }
    case _: messages = []
    }
    var id = one([1, 1, 7, UInt64.max - UInt64(messages.count)])
    for message in messages {
      kept.append(ProvenQueue.Entry(id: id, message: message))
      id += UInt64(number(1...1 + (id < 1_000_000 ? 2 : 0)))
    }
    for entry in happens(2) ? kept : kept.reversed() { disk.add(entry) }
    compare("an outbox that was filled", disk.all, kept)
    queue.restore(disk.all)
    proof.restore(kept)
    look(after: "restore")
  }

  private mutating func message() -> SocketMessage {
    let longest = happens(2) ? Self.longest : Self.rest
    return happens(3) ? one(Self.small) : happens(4) ? longest : one(Self.large)
  }

  private mutating func look(after what: String) {
    compare("the count after \(what)", queue.entries.count, proof.rows.count)
    if happens(3) {
      let rows = proof.rows.map { ProvenQueue.Entry(id: $0.id, message: $0.message) }
      compare("the queue after \(what)", queue.entries, rows)
    }
    compare("the bytes after \(what)", queue.bytes, proof.bytes)
    compare("what is handed over after \(what)", queue.handed, proof.handed)
    compare("the deadline after \(what)", queue.deadline, proof.deadline)
    compareInvariants(of: queue, after: what)
  }

  private mutating func step() -> String {
    switch number(0...11) {
    case 0...4: return add()
    case 5...6:
      let taken = queue.take()
      compare("what is taken", taken.map { $0.count }, proof.take().map { $0.count })
      return "take"
    case 7: return ask()
    case 8: return answer()
    case 9: return store()
    case 10:
      let repeats = happens(2)
      compare(
        "what is unknown", queue.interrupt(repeats: repeats), proof.interrupt(repeats: repeats))
      return "interrupt"
    case _:
      if happens(3) {
        compare("what is overdue", queue.expire(), proof.expire())
        return "expire"
      }
      return keep()
    }
  }

  private mutating func add() -> String {
    for message in [Self.tooLong, Self.longest, Self.rest] + Self.small {
      compare(
        "the refusal of \(message.count) bytes", queue.refusal(of: message),
        proof.refusal(message))
    }
    let message = message()
    guard proof.refusal(message) == nil else { return "a refusal" }
    let isStored = happens(2)
    let entry = queue.add(message, isStored: isStored)
    compare("the id of a message", entry.id, proof.add(message, isStored: isStored))
    compare("the message of an entry", entry.message.count, message.count)
    return "add"
  }

  private mutating func ask() -> String {
    let until = Instant(nanoseconds: Int64(number(0...9)))
    let ping = queue.ask(until: until)
    compare("a ping", ping, proof.ask(until))
    lastPing = ping ?? lastPing
    compare("whether a ping is one of a queue", ping.map { ProvenQueue.asked($0) } ?? true, true)
    compare("whether a link's ping is one of a queue", ProvenQueue.asked(1 << 32), false)
    return "ask"
  }

  private mutating func answer() -> String {
    let ping = happens(3) ? one([0, 1, lastPing + 1, lastPing - min(1, lastPing)]) : lastPing
    compare("what is proven", queue.proven(by: ping), proof.proven(ping))
    return "proven(\(ping))"
  }

  private mutating func store() -> String {
    let unstored = proof.rows.filter { !$0.isStored }.map { $0.id }
    let id = unstored.isEmpty || happens(5) ? one([0, 1, 2, 3]) : one(unstored)
    if happens(3) {
      queue.drop(id)
      proof.drop(id)
      return "drop(\(id))"
    }
    queue.noteStored(id)
    proof.noteStored(id)
    return "noteStored(\(id))"
  }

  /// What a store keeps.
  private mutating func keep() -> String {
    let entry = ProvenQueue.Entry(id: UInt64(number(0...4)), message: one(Self.small))
    if happens(2) {
      disk.add(entry)
      kept = (kept.filter { $0.id != entry.id } + [entry]).sorted { $0.id < $1.id }
    } else {
      let ids = kept.isEmpty ? [entry.id] : [entry.id, one(kept).id]
      disk.remove(ids)
      kept.removeAll { ids.contains($0.id) }
    }
    compare("an outbox", disk.all, kept)
    return "keep"
  }
}

extension [UInt8] {
  /// So many bytes.
  fileprivate static func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }
}
