import HoldfastCore
import HoldfastDriver
import HoldfastLinuxEvents
import HoldfastPorts
package import HoldfastStorage
package import HoldfastWire
import Synchronization

/// The reports between nodes, by `LISTEN` and `NOTIFY` of the database.
///
/// The reports use a connection of their own, and their commits are not synced: within the
/// transaction of a post, `NOTIFY` would hold a lock of the whole server until the commit is synced.
///
/// A report says that the log of a shop has reached a position. It may be lost, repeated or late, so
/// its receiver reads the log.
package final class NotifyBus: Sendable {
  /// The reports of other nodes, and whether any arrive. There is one receiver; if it falls far behind,
  /// it loses the oldest ones.
  package let news: AsyncStream<NodeNews>
  private let outbox = Outbox()
  private let loop: Task<Void, Never>

  /// Opens the bus of a node. It connects in the background.
  package init(of node: DatabaseNode) {
    let (news, reports) = AsyncStream<NodeNews>.makeStream(
      bufferingPolicy: .bufferingNewest(10_000))
    self.news = news
    let link = NotifyLink(node, outbox, reports)
    loop = Task { await link.run() }
  }

  /// Reports a position to the other nodes. The call does not wait.
  package func tell(_ position: ShopPosition, of shop: ShopID) { outbox.add(position, of: shop) }

  /// Ends the connection and `news`.
  package func close() async {
    outbox.close()
    await loop.value
  }
}

/// The reports that were not sent yet: the newest position of each shop.
private final class Outbox: Sendable {
  private struct State {
    var heads: [ShopID: ShopPosition] = [:]
    var isClosed = false
  }

  let signal = WakeSignal()
  private let state = Mutex(State())

  var isClosed: Bool { state.withLock { $0.isClosed } }

  func add(_ position: ShopPosition, of shop: ShopID) {
    let isFirst = state.withLock { state in
      defer { state.heads[shop] = position }
      return state.heads.isEmpty
    }
    if isFirst { signal.send() }
  }

  /// Removes and returns the reports of at most `count` shops.
  func take(_ count: Int) -> [ShopID: ShopPosition] {
    state.withLock { state in
      guard state.heads.count > count else {
        defer { state.heads = [:] }
        return state.heads
      }
      var taken: [ShopID: ShopPosition] = [:]
      for (shop, position) in state.heads.prefix(count) {
        taken[shop] = position
        state.heads[shop] = nil
      }
      return taken
    }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    signal.send()
  }
}

/// A note of one node to all: positions of shops. A note without positions shows that notes arrive.
struct NodeNote: Equatable {
  /// The maximum number of shops. The payload of `NOTIFY` has less than 8,000 bytes, and a shop takes
  /// at most 128 bytes and its position 85.
  static let most = 36

  var sender: UUID128
  var heads: [ShopID: ShopPosition]

  var text: String {
    var lines = [sender.description]
    lines += heads.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    return lines.joined(separator: "\n")
  }

  init(sender: UUID128, heads: [ShopID: ShopPosition]) {
    (self.sender, self.heads) = (sender, heads)
  }

  /// Reads a note. Lines that are no positions are ignored. Returns `nil` if there is no sender.
  init?(_ text: String) {
    let lines = text.split(separator: "\n")
    guard let first = lines.first, let sender = UUID128(String(first)) else { return nil }
    self.sender = sender
    heads = [:]
    for line in lines.dropFirst() {
      let words = line.split(separator: " ", maxSplits: 1)
      guard words.count == 2, let shop = ShopID(words[0]), let head = ShopPosition(String(words[1]))
      else { continue }
      heads[shop] = head
    }
  }
}

/// The connection of a bus, on a thread of its own.
private actor NotifyLink {
  /// The time between two notes that only show that notes arrive.
  private static let beat = Duration.seconds(1)
  /// The time without an own note after which the connection is given up.
  private static let silence = Duration.seconds(3)
  private static let retry = Duration.milliseconds(200)

  private let executor = QueueExecutor(label: "holdfast.postgresql.bus")
  private let node: DatabaseNode
  private let outbox: Outbox
  private let reports: AsyncStream<NodeNews>.Continuation
  private var isConnected = false

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  init(_ node: DatabaseNode, _ outbox: Outbox, _ reports: AsyncStream<NodeNews>.Continuation) {
    (self.node, self.outbox, self.reports) = (node, outbox, reports)
  }

  /// Connects, and connects again, until the bus is closed.
  func run() {
    while !outbox.isClosed {
      do throws(DatabaseFailure) {
        try serve(try connected())
      } catch {
        if isConnected { reports.yield(.interrupted) }
        isConnected = false
        outbox.signal.wait(or: -1, milliseconds: Self.retry.milliseconds)
      }
    }
    reports.finish()
  }

  private func connected() throws(DatabaseFailure) -> (Connection, channel: String) {
    let connection = try node.connect()
    guard try node.renew(connection) else { throw .lost(detail: "there is no lease") }
    let rows = try connection.run([
      Command(
        """
        SELECT convert_to('holdfast_' || left(md5(current_schema()), 16), 'UTF8'),
          set_config('synchronous_commit', 'off', false)
        """)
    ])
    guard let name = rows[0].first?.columns[0] else { throw .lost(detail: "there is no schema") }
    let channel = String(decoding: name, as: UTF8.self)
    _ = try connection.run([Command("LISTEN \(channel)")])
    return (connection, channel)
  }

  private func serve(_ link: (connection: Connection, channel: String)) throws(DatabaseFailure) {
    let connection = link.connection
    let clock = BootClock()
    reports.yield(.connected)
    isConnected = true
    var heard = clock.now
    var nextBeat = heard
    while !outbox.isClosed {
      let heads = outbox.take(NodeNote.most)
      if !heads.isEmpty || clock.now >= nextBeat {
        let note = NodeNote(sender: node.run, heads: heads)
        _ = try connection.run([
          Command(
            "SELECT pg_notify(convert_from($1, 'UTF8'), convert_from($2, 'UTF8'))",
            [.text(link.channel), .text(note.text)])
        ])
        nextBeat = clock.now.advanced(by: Self.beat)
      }
      if try receive(from: connection) { heard = clock.now }
      guard heard.duration(to: clock.now) < Self.silence, connection.timeline >= node.timeline
      else {
        throw .lost(detail: "no notes arrive")
      }
      let left = heads.count < NodeNote.most ? clock.now.duration(to: nextBeat) : .zero
      outbox.signal.wait(
        or: connection.descriptor, milliseconds: max(left, .zero).milliseconds)
    }
  }

  /// Reports the notes that have arrived. Returns whether one of this node is among them.
  private func receive(from connection: Connection) throws(DatabaseFailure) -> Bool {
    var hasOwn = false
    for text in try connection.notes() {
      guard let note = NodeNote(text) else { continue }
      guard note.sender != node.run else {
        hasOwn = true
        continue
      }
      for (shop, head) in note.heads { reports.yield(.told(shop, head)) }
    }
    return hasOwn
  }
}
