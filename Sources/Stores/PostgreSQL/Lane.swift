import Glibc
import HoldfastCore
import HoldfastPorts
import HoldfastServerData
import Synchronization

/// One connection of a store, with a queue of its own.
///
/// If the connection ends, the lane connects to the valid server and repeats. A transaction that may
/// have been committed has left its number in the table `lanes` if it was.
actor Lane {
  /// The purpose of a lane.
  enum Kind: String, Sendable {
    case log, logPages, images, relay, session, sync, syncPages, move

    /// The key of the advisory lock that orders the transactions of the lane.
    var lock: Int32 {
      switch self {
      case .log: -2
      case .relay: -3
      case .session: -4
      case .sync: -5
      case .move: -6
      case .images: -7
      case .logPages, .syncPages: 0
      }
    }

    /// The role that the node needs for the lane; `nil` if any node may use it.
    var role: String? {
      switch self {
      case .relay, .session: DatabaseNode.role
      case .log, .sync, .move, .images, .logPages, .syncPages: nil
      }
    }

    /// The table with the epoch that ends when commits were lost; `nil` for none.
    var epochTable: String? {
      switch self {
      case .log: "log"
      case .sync: "sync_store"
      case .relay, .session, .images, .logPages, .syncPages, .move: nil
      }
    }
  }

  /// One attempt to run a transaction.
  struct Batch: Sendable {
    let run: UUID128
    let lane: Int32
    let role: String?
    /// The number of the attempt, which is higher than those of all before.
    let number: Int64

    /// The end of a transaction. It stores the outcome, for the case that the answer to the commit is
    /// lost.
    func ending(_ outcome: [Int64] = []) -> [Command] {
      [
        Command(
          "SELECT end_write($1, $2, $3, $4)",
          [.uuid(run), .small(lane), .integer(number), .integers(outcome)])
      ]
    }

    /// The begin of a transaction. It fails if the lease has ended, or a later attempt was committed.
    var beginning: [Command] {
      [
        .begin,
        Command(
          "SELECT begin_write($1, $2, $3, $4)",
          [.uuid(run), .small(lane), .integer(number), .text(role)]),
      ]
    }
  }

  /// The result of a transaction.
  enum Answer: Sendable {
    /// The rows of its statements.
    case rows([[Row]])
    /// The outcome of a transaction that had been committed by an attempt before.
    case known([Int64])
  }

  /// The time for which a transaction is repeated, and a read.
  private static let writing = Duration.seconds(30)
  private static let reading = Duration.seconds(10)

  private let kind: Kind
  private let node: DatabaseNode
  private let executor: QueueExecutor
  private var connection: Connection?
  private var rules = LaneRules()
  private let closed = Mutex(false)
  private let writer: Lane?
  /// The timeline on which the writer has found its newest transaction.
  private var confirmed: Int64

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Creates a lane without a connection.
  ///
  /// - Parameter writer: For a lane that only reads: the lane that writes the same tables. It notices
  ///   whether commits were lost.
  init(_ kind: Kind, of node: DatabaseNode, beside writer: Lane? = nil) {
    (self.kind, self.node, self.writer) = (kind, node, writer)
    confirmed = node.timeline
    executor = QueueExecutor(label: "holdfast.postgresql.\(kind.rawValue)")
  }

  /// Ends the lane. What is waiting for the database fails soon.
  nonisolated func close() async {
    closed.withLock { $0 = true }
    await disconnect()
  }

  private func disconnect() { connection = nil }

  /// Runs statements that read. All of them see one snapshot.
  ///
  /// After a failover nothing is returned before the writer has looked for its newest transaction.
  func read(_ commands: [Command]) async throws(StoreFailure) -> [[Row]] {
    while true {
      let rows = try readOnce(commands)
      let timeline = node.timeline
      guard let writer, timeline != confirmed else { return rows }
      _ = try await writer.read([Command("SELECT 1")])
      confirmed = timeline
    }
  }

  private func readOnce(_ commands: [Command]) throws(StoreFailure) -> [[Row]] {
    try repeating(for: Self.reading, isRead: true) { connection, _ throws(DatabaseFailure) in
      guard commands.count > 1 else { return try connection.run(commands) }
      let rows = try connection.run([.beginReading] + commands + [.commit])
      return Array(rows.dropFirst().dropLast())
    }
  }

  /// Runs a transaction, which is one flush.
  func write(_ make: @Sendable (Batch) -> [Command]) throws(StoreFailure) -> Answer {
    try transaction { batch, connection, isBegun throws(DatabaseFailure) in
      let begin = isBegun ? [] : batch.beginning
      let rows = try connection.run(begin + make(batch) + [.commit])
      return .rows(Array(rows.dropFirst(begin.count).dropLast()))
    }
  }

  /// Runs a transaction whose changes depend on what it reads. Returns its outcome.
  func write(
    reading: [Command],
    change:
      @Sendable (_ found: [[Row]]) throws(StoreFailure) -> (
        commands: [Command], outcome: [Int64]
      )
  ) throws(StoreFailure) -> [Int64] {
    let answer = try transaction { batch, connection, isBegun throws(DatabaseFailure) in
      let begin = isBegun ? [] : batch.beginning
      let found = try connection.run(begin + reading)
      let result: (commands: [Command], outcome: [Int64])
      do throws(StoreFailure) {
        result = try change(Array(found.dropFirst(begin.count)))
      } catch {
        _ = try connection.run([.rollback])
        throw DatabaseFailure.store(error)
      }
      _ = try connection.run(result.commands + batch.ending(result.outcome) + [.commit])
      return .known(result.outcome)
    }
    guard case .known(let outcome) = answer else { return [] }
    return outcome
  }

  // MARK: - Attempts

  private func transaction(
    _ body: (Batch, Connection, _ isBegun: Bool) throws(DatabaseFailure) -> Answer
  ) throws(StoreFailure) -> Answer {
    let done = try repeating(for: Self.writing, isRead: false) {
      connection, lookedUp throws(DatabaseFailure) -> (answer: Answer, number: Int64) in
      let batch = nextBatch()
      guard let lookedUp else { return (try body(batch, connection, false), batch.number) }
      let found = try connection.run(batch.beginning + [newest])
      guard let (number, outcome) = try Self.numbered(found), number >= lookedUp else {
        return (try body(batch, connection, true), batch.number)
      }
      _ = try connection.run([.commit])
      return (.known(outcome), number)
    }
    rules.commit(done.number)
    return done.answer
  }

  private func nextBatch() -> Batch {
    Batch(run: node.run, lane: kind.lock, role: kind.role, number: node.nextAttempt())
  }

  /// The statement that reads the newest transaction of the lane.
  private var newest: Command {
    Command(
      "SELECT number, outcome FROM lanes WHERE run = $1 AND lane = $2",
      [.uuid(node.run), .small(kind.lock)])
  }

  private static func numbered(
    _ rows: [[Row]]
  ) throws(DatabaseFailure) -> (number: Int64, outcome: [Int64])? {
    guard let row = rows.last?.first else { return nil }
    do throws(StoreFailure) {
      return (try row.integer(0), try row.integers(1))
    } catch {
      throw .store(error)
    }
  }

  /// Runs `body` until it succeeds, the server refuses it, or the time is over.
  private func repeating<Value>(
    for patience: Duration, isRead: Bool,
    _ body: (Connection, _ lookedUp: Int64?) throws(DatabaseFailure) -> Value
  ) throws(StoreFailure) -> Value {
    rules.begin(after: node.newestAttempt, until: BootClock().now.advanced(by: patience))
    while true {
      guard !closed.withLock({ $0 }) else { throw .closed }
      let reason = node.reason
      if let reason, !rules.goesOn(hasLease: false) { throw .locked(detail: reason) }
      do throws(DatabaseFailure) {
        let connection = try usable()
        do throws(DatabaseFailure) {
          let value = try body(connection, rules.lookedUp)
          // What was read during a pause of the process may be old. A commit was checked by the server.
          if isRead { try demandLease() }
          return value
        } catch {
          if error.endsConnection || !connection.isOpen {
            rules.breakOff(isEndOfLease: error.isEndOfLease)
            self.connection = nil
          }
          throw error
        }
      } catch {
        guard error.isPassing, node.mayTryAgain, let pause = rules.pause(at: BootClock().now) else {
          if !node.mayTryAgain, let reason = node.reason { throw .locked(detail: reason) }
          throw error.asStoreFailure
        }
        _ = poll(nil, 0, Int32(pause.nanoseconds / 1_000_000))
      }
    }
  }

  private func demandLease() throws(DatabaseFailure) {
    if let reason = node.reason { throw .lost(detail: reason) }
  }

  /// Returns a connection to the valid server, on which the lease was renewed.
  private func usable() throws(DatabaseFailure) -> Connection {
    if let connection, connection.isOpen, connection.timeline >= node.timeline {
      try demandLease()
      return connection
    }
    let connection = try node.connect()
    guard try node.renew(connection) else {
      throw .lost(detail: "the database has no lease of this node")
    }
    try endEpochIfLost(connection)
    self.connection = connection
    return connection
  }

  /// Begins a new epoch if the server lacks a transaction that was committed. Other nodes may have
  /// noticed the same.
  private func endEpochIfLost(_ connection: Connection) throws(DatabaseFailure) {
    guard rules.mustCompare else { return }
    let found = try Self.numbered(connection.run([newest]))?.number ?? 0
    guard rules.compare(with: found, hasEpoch: kind.epochTable != nil), let table = kind.epochTable
    else { return }
    let batch = nextBatch()
    rules.beginEpoch(batch.number)
    _ = try connection.run(
      batch.beginning + [
        Command(
          "UPDATE \(table) SET epoch = new_epoch(), timeline = $1 WHERE timeline <> $1",
          [.integer(connection.timeline)])
      ] + batch.ending() + [.commit])
    rules.commit(batch.number)
  }
}
