package import HoldfastCore
import HoldfastLinuxEvents
package import HoldfastMessageData
import HoldfastPorts
import Synchronization

/// The reports between nodes, over connections of any kind.
///
/// A report says that the log of a shop has reached a position. It may be lost, repeated or late, so
/// its receiver reads the log.
package final class NodeBus: Sendable {
  /// The reports of other nodes, and whether any arrive. There is one receiver; if it falls far behind,
  /// it loses the oldest ones.
  package let news: AsyncStream<NodeNews>
  private let outbox = Outbox()
  private let loop: Task<Void, Never>

  /// Opens the bus of a node. It connects in the background, and again when a connection ends.
  ///
  /// - Parameters:
  ///   - run: The run of the node, whose own reports are not reported to it.
  ///   - opening: Opens a connection.
  package init(of run: UUID128, _ opening: @escaping NoteCarrierOpening) {
    let (news, reports) = AsyncStream<NodeNews>.makeStream(
      bufferingPolicy: .bufferingNewest(10_000))
    self.news = news
    let link = NodeLink(run, opening, outbox, reports)
    loop = Task { await link.run() }
  }

  /// Why no reports arrive; `nil` if they do.
  package var failure: String? { outbox.failure }

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
    var failure: String? = "no connection yet"
  }

  let signal = WakeSignal()
  private let state = Mutex(State())

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Why reports cannot be sent; `nil` if they can.
  var failure: String? {
    get { state.withLock { $0.failure } }
    set { state.withLock { $0.failure = newValue } }
  }

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

  /// Adds reports that could not be sent, unless there are newer ones.
  func putBack(_ heads: [ShopID: ShopPosition]) {
    state.withLock { $0.heads.merge(heads) { newer, _ in newer } }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    signal.send()
  }
}

/// A watch for own notes, which the bus returns to their sender.
///
/// A machine that was suspended, or a thread that had no processor, has sent nothing meanwhile. So
/// the silence of the bus is measured from the first note to which it has not responded.
struct EchoWatch {
  /// The time after which the connection is given up.
  static let limit = Duration.seconds(3)

  private var unanswered: Instant?

  /// Records that a note was sent.
  mutating func sent(at now: Instant) { unanswered = unanswered ?? now }

  /// Records that an own note arrived.
  mutating func heard() { unanswered = nil }

  /// Returns whether the bus has been silent for too long.
  func areMissing(at now: Instant) -> Bool {
    unanswered.map { $0.duration(to: now) >= Self.limit } ?? false
  }
}

/// The connection of a bus, on a thread of its own.
private actor NodeLink {
  /// The time between two notes that only show that notes arrive.
  private static let beat = Duration.seconds(1)
  /// The waits after attempts that failed.
  private static let retries = Schedule.doubling(from: .milliseconds(200), to: .seconds(2))
  /// The times after the first own note at which the bus reports a connection. Servers of NATS learn
  /// late from each other who listens, so the first notes of other nodes may be missing.
  private static let confirmations = [Duration.zero, .milliseconds(100), .seconds(1)]

  private let executor = QueueExecutor(label: "holdfast.bus")
  private let node: UUID128
  private let opening: NoteCarrierOpening
  private let outbox: Outbox
  private let reports: AsyncStream<NodeNews>.Continuation
  private var isConnected: Bool?
  private var failures = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  init(
    _ node: UUID128, _ opening: @escaping NoteCarrierOpening, _ outbox: Outbox,
    _ reports: AsyncStream<NodeNews>.Continuation
  ) {
    (self.node, self.opening, self.outbox, self.reports) = (node, opening, outbox, reports)
  }

  /// Connects, and connects again, until the bus is closed.
  func run() {
    while !outbox.isClosed {
      do throws(NodeBusFailure) {
        try serve(try opening(outbox.signal))
      } catch {
        outbox.failure = error.detail
        if isConnected != false { reports.yield(.interrupted) }
        isConnected = false
        failures += 1
        outbox.signal.wait(or: -1, for: Self.retries.wait(after: failures))
      }
    }
    reports.finish()
  }

  private func serve(_ carrier: any NoteCarrier) throws(NodeBusFailure) {
    let clock = BootClock()
    var echoes = EchoWatch()
    var nextBeat = clock.now
    var confirmations: [Instant]?
    while !outbox.isClosed {
      if let time = confirmations?.first, time <= clock.now {
        confirmations?.removeFirst()
        (outbox.failure, isConnected) = (nil, true)
        failures = 0
        reports.yield(.connected)
      }
      let heads = outbox.take(NodeNote.most)
      if !heads.isEmpty || clock.now >= nextBeat {
        try send(heads, over: carrier)
        echoes.sent(at: clock.now)
        nextBeat = clock.now.advanced(by: Self.beat)
      }
      if report(try carrier.notes()) {
        echoes.heard()
        let heard = clock.now
        confirmations = confirmations ?? Self.confirmations.map { heard.advanced(by: $0) }
      }
      guard !echoes.areMissing(at: clock.now) else { throw NodeBusFailure("no notes arrive") }
      let next = min(nextBeat, confirmations?.first ?? nextBeat)
      let left = heads.count < NodeNote.most ? clock.now.duration(to: next) : .zero
      outbox.signal.wait(or: carrier.descriptor, for: max(left, .zero))
    }
  }

  /// Sends reports. If that fails, they are sent over the next connection.
  private func send(
    _ heads: [ShopID: ShopPosition], over carrier: any NoteCarrier
  ) throws(NodeBusFailure) {
    do throws(NodeBusFailure) {
      try carrier.send(NodeNote(sender: node, heads: heads).text)
    } catch {
      outbox.putBack(heads)
      throw error
    }
  }

  /// Reports the positions in notes of other nodes. Returns whether there is a note of this node.
  private func report(_ texts: [String]) -> Bool {
    var hasOwn = false
    for text in texts {
      guard let note = NodeNote(text) else { continue }
      guard note.sender != node else {
        hasOwn = true
        continue
      }
      for (shop, head) in note.heads { reports.yield(.told(shop, head)) }
    }
    return hasOwn
  }
}
