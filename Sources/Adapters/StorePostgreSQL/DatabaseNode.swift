import Glibc
package import HoldfastCore
import HoldfastDriver
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastStorage
import Synchronization

/// This process as the user of a database: its lease, and what it knows about the servers.
///
/// One node uses a database at a time. A second one is refused.
package final class DatabaseNode: Sendable {
  private struct State {
    var lease = NodeLease()
    /// The highest timeline of a server that was used.
    var timeline: Int64 = 0
    var isClosed = false
    var renewals: Task<Void, Never>?
  }

  let settings: DatabaseSettings
  /// The name of the node, for messages.
  let name: String
  /// The identity of the data directory.
  let id: UUID128
  /// The identity of this run of the process.
  let run: UUID128
  private let file: NodeFile
  private let state = Mutex(State())

  private init(_ settings: DatabaseSettings, name: String, file: NodeFile) {
    (self.settings, self.name, self.file, id) = (settings, name, file, file.id)
    var generator = SystemRandomNumberGenerator()
    run = .random(using: &generator)
  }

  /// Connects to the database, brings its tables to this version, and takes the lease.
  ///
  /// - Parameters:
  ///   - directory: The data directory, which identifies the node. It is locked until the node is
  ///     closed, so that the next run in it may take over at once.
  ///   - name: The name that other nodes show when they are refused.
  /// - Throws: `.locked` if another node uses the database, or another process the directory;
  ///   `.denied` if the stores are being moved, or were moved away.
  package static func open(
    _ settings: DatabaseSettings, in directory: String, name: String
  ) async throws(StoreFailure) -> DatabaseNode {
    let node = try await openToMove(settings, in: directory, name: name)
    do throws(StoreFailure) {
      if let note = try await node.note() {
        throw .denied(detail: note.refusal(of: "the database"))
      }
    } catch {
      await node.close()
      throw error
    }
    return node
  }

  /// Opens a database whose stores are to be moved.
  static func openToMove(
    _ settings: DatabaseSettings, in directory: String, name: String
  ) async throws(StoreFailure) -> DatabaseNode {
    let node = DatabaseNode(settings, name: name, file: try NodeFile(in: directory))
    let keeper = LeaseKeeper(node)
    try await keeper.begin()
    let renewals = Task { await keeper.keep() }
    node.state.withLock { $0.renewals = renewals }
    return node
  }

  /// Returns what the database says about a move of its stores.
  func note() async throws(StoreFailure) -> MoveNote? {
    let lane = Lane(.move, of: self)
    let rows = try await lane.read([Command("SELECT note FROM moved")])
    await lane.close()
    guard let row = rows[0].first else { return nil }
    guard let note = MoveNote(try row.text(0)) else { throw row.garbage(0, expected: "a place") }
    return note
  }

  /// The name of this machine.
  package static var hostName: String {
    var bytes = [CChar](repeating: 0, count: 256)
    let isKnown = unsafe gethostname(&bytes, bytes.count - 1) == 0
    let name = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return isKnown ? String(decoding: name, as: UTF8.self) : "unnamed"
  }

  /// The identity of this machine. A copy of a data directory on another one has another identity.
  static var machine: String {
    let file = OwnerFile("/etc/machine-id", maxBytes: 256, isSecret: false)
    let id = (try? file.read()).flatMap { $0 }.map {
      String(decoding: $0.prefix(32), as: UTF8.self)
    }
    return "\(id ?? "") \(hostName)"
  }

  /// Gives the lease back.
  package func close() async {
    let renewals = state.withLock { state in
      state.isClosed = true
      return state.renewals
    }
    renewals?.cancel()
    await renewals?.value
    handle(.left)
    file.release()
  }

  /// Why the node may not use the database now; `nil` if it may.
  package var reason: String? {
    let now = BootClock().now
    return state.withLock { $0.lease.reason(at: now) }
  }

  var lease: NodeLease { state.withLock { $0.lease } }

  /// The highest timeline of a server that was used.
  var timeline: Int64 { state.withLock { $0.timeline } }

  /// Whether another attempt makes sense after a failure.
  var mayTryAgain: Bool { state.withLock { !$0.isClosed && !$0.lease.hasEnded } }

  func handle(_ input: NodeLease.Input) {
    let now = BootClock().now
    state.withLock { $0.lease.handle(input, at: now) }
  }

  /// Connects to the valid server.
  func connect() throws(DatabaseFailure) -> Connection {
    let known = state.withLock { $0.timeline }
    let connection = try ServerChoice.open(
      settings, applicationName: "holdfast-\(name)", known: known)
    state.withLock { $0.timeline = max($0.timeline, connection.timeline) }
    return connection
  }

  /// Commits a renewal of the lease. Returns false if the database has no lease of this run.
  ///
  /// It is the first act on each connection: the commit of a former primary, whose standby is gone,
  /// does not return.
  func renew(_ connection: Connection) throws(DatabaseFailure) -> Bool {
    let sent = BootClock().now
    let rows = try connection.run([
      Command(
        """
        UPDATE nodes SET lease_until = clock_timestamp() + $3 * interval '1 second'
        WHERE id = $1 AND run = $2 RETURNING 1
        """,
        [.uuid(id), .uuid(run), .small(Int32(NodeLease.term.components.seconds))])
    ])
    guard !rows[0].isEmpty else { return false }
    guard connection.timeline >= timeline else { throw .lost(detail: "a newer server was found") }
    handle(.renewed(sent: sent))
    return true
  }
}

/// The connection that renews the lease of a node.
private actor LeaseKeeper {
  private let executor = QueueExecutor(label: "holdfast.lease")
  private let node: DatabaseNode
  private var connection: Connection?
  private var hasRegistered = false

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  init(_ node: DatabaseNode) { self.node = node }

  func begin() throws(StoreFailure) {
    do throws(DatabaseFailure) {
      let connection = try node.connect()
      try Migrations.run(on: connection)
      self.connection = connection
      try renew()
    } catch {
      throw error.asStoreFailure
    }
  }

  /// Renews the lease until the task is cancelled, then gives it back.
  func keep() async {
    let clock = BootClock()
    while let next = node.lease.renewal(at: clock.now), !Task.isCancelled {
      let wanted = connection == nil ? clock.now.advanced(by: .milliseconds(200)) : next
      do throws(CancellationError) { try await clock.wait(until: wanted) } catch { break }
      do throws(DatabaseFailure) {
        try renew()
      } catch {
        connection = nil
        if case .store(let failure) = error {
          node.handle(.taken("\(failure)"))
        } else {
          node.handle(.failed(error.detail))
        }
      }
    }
    leave()
  }

  private func renew() throws(DatabaseFailure) {
    let connection = try connected()
    if try node.renew(connection) { return }
    // A transaction of the former node may hold its lock for 10 s.
    let rows = try connection.run(
      [
        Command(
          "SELECT register_node($1, $2, $3, $4, $5)",
          [
            .uuid(node.id), .uuid(node.run), .text(node.name), .text(DatabaseNode.machine),
            .flag(!hasRegistered),
          ])
      ], within: .seconds(15))
    if let other = rows[0].first?.columns[0] {
      throw .store(
        .locked(
          detail: "Another node, \(String(decoding: other, as: UTF8.self)), uses this database. "
            + "Stop it, or use another database or schema: one node is supported."))
    }
    hasRegistered = true
    guard try node.renew(connection) else { throw .lost(detail: "the lease was not stored") }
  }

  private func connected() throws(DatabaseFailure) -> Connection {
    // A lane may have found a newer server.
    if let connection, connection.isOpen, connection.timeline >= node.timeline { return connection }
    let connection = try node.connect()
    self.connection = connection
    return connection
  }

  private func leave() {
    _ = try? connection?.run(
      [Command("DELETE FROM nodes WHERE run = $1", [.uuid(node.run)])], within: .seconds(1))
    connection = nil
  }
}

/// The file `node` in a data directory: the identity of the node, and its lock.
private final class NodeFile: Sendable {
  let id: UUID128
  private let descriptor: Mutex<Int32>

  init(in directory: String) throws(StoreFailure) {
    let path = "\(directory)/node"
    var generator = SystemRandomNumberGenerator()
    let text: [UInt8]
    do throws(OwnerFileError) {
      try OwnerFile.makeDirectory(directory)
      text = try OwnerFile(path, maxBytes: 64, isSecret: false).readOrCreate(
        Array("\(UUID128.random(using: &generator))\n".utf8))
    } catch {
      throw StoreFailure(error, at: path)
    }
    guard let id = UUID128(String(decoding: text.prefix(36), as: UTF8.self)) else {
      throw .corrupt(detail: "\(path) contains no UUID. Remove it; the node then gets a new one.")
    }
    self.id = id
    let opened = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard opened >= 0 else { throw StoreFailure("open", path, code: errno) }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      close(opened)
      throw .locked(
        detail: "Another process uses \(directory). End it, or use another data directory.")
    }
    descriptor = Mutex(opened)
  }

  func release() {
    descriptor.withLock { descriptor in
      guard descriptor >= 0 else { return }
      flock(descriptor, LOCK_UN)
      close(descriptor)
      descriptor = -1
    }
  }

  deinit { release() }
}
