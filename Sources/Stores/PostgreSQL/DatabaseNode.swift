import Glibc
package import HoldfastCore
import HoldfastOwnerFiles
import HoldfastPorts
import HoldfastServerData
import Synchronization

/// A change of what a node may do.
package enum NodeChange: Sendable, Hashable {
  /// Whether the node has a lease, without which it may not use the database.
  case lease(Bool)
  /// Whether the node runs the services that run at one node at a time.
  case role(Bool)
  /// The epoch of the synced samples, if it has changed.
  case syncEpoch(String)
  /// The list of removed members, at the beginning and if it has changed.
  case removals
}

/// The facts about a node that the other nodes can see.
package struct NodeFacts: Sendable {
  /// The name of the node, for messages.
  package var name: String
  /// A hash of the secrets that have to be equal at all nodes.
  package var secrets: [UInt8]
  /// The version of this software.
  package var version: String
  /// The address for requests that other nodes pass on; empty for none.
  package var address: String

  package init(
    name: String, secrets: [UInt8] = [], version: String = "", address: String = ""
  ) {
    (self.name, self.secrets, self.version, self.address) = (name, secrets, version, address)
  }
}

/// This process as a user of a database: its lease, and what it knows about the servers.
package final class DatabaseNode: Sendable {
  private struct State {
    var lease = NodeLease()
    /// The highest timeline of a server that was used.
    var timeline: Int64 = 0
    /// The time at which the server was found; `nil` before that.
    var changedServer: Instant?
    /// The term of the role, which grows with each change of its holder; `nil` if another node has it.
    var roleTerm: Int64?
    var syncEpoch: String?
    /// The address of the other node that has the role; `nil` if there is none.
    var holder: String?
    /// The state that `changes` has reported.
    var reported: (hasLease: Bool, roleTerm: Int64?, syncEpoch: String?) = (true, nil, nil)
    /// The number of attempts to run transactions, in all lanes.
    var attempts: Int64 = 0
    /// The list of removed members that was reported; version 0 before that.
    var removals: (version: Int64, content: [UInt8]?) = (0, nil)
    var isClosed = false
    var keeper: LeaseKeeper?
    var tasks: [Task<Void, Never>] = []
  }

  /// The role of the node that runs the services which run at one node at a time.
  static let role = "services"

  let settings: DatabaseSettings
  let facts: NodeFacts
  var name: String { facts.name }
  /// Whether the node moves the stores, which no other node may use meanwhile.
  let moves: Bool
  /// The identity of the data directory.
  let id: UUID128
  /// The identity of this run of the process.
  package let run: UUID128
  private let file: NodeFile
  /// The machine, and the file that is the directory's identity. A copy of a directory differs in it.
  var place: String { file.place }
  private let state = Mutex(State())
  /// The changes of what the node may do. At the beginning it has a lease and no role.
  package let changes: AsyncStream<NodeChange>
  private let reports: AsyncStream<NodeChange>.Continuation

  private init(_ settings: DatabaseSettings, _ facts: NodeFacts, moves: Bool, file: NodeFile) {
    (self.settings, self.facts, self.moves) = (settings, facts, moves)
    (self.file, id) = (file, file.id)
    (changes, reports) = AsyncStream.makeStream()
    var generator = SystemRandomNumberGenerator()
    run = .random(using: &generator)
  }

  /// Connects to the database, brings its tables to this version, and takes the lease.
  ///
  /// - Parameters:
  ///   - directory: The data directory, which identifies the node. It is locked until the node is
  ///     closed, so that the next run in it may take over at once.
  ///   - facts: What other nodes can see.
  /// - Throws: `.locked` if another process uses the directory or a copy of it, or if a live node has
  ///   other secrets; `.denied` if the stores are being moved, or were moved away.
  package static func open(
    _ settings: DatabaseSettings, in directory: String, _ facts: NodeFacts
  ) async throws(StoreFailure) -> DatabaseNode {
    let node = try await open(settings, in: directory, facts, moves: false)
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
  ///
  /// - Throws: `.locked` if another node uses the database.
  static func openToMove(
    _ settings: DatabaseSettings, in directory: String, name: String
  ) async throws(StoreFailure) -> DatabaseNode {
    try await open(settings, in: directory, NodeFacts(name: name), moves: true)
  }

  private static func open(
    _ settings: DatabaseSettings, in directory: String, _ facts: NodeFacts, moves: Bool
  ) async throws(StoreFailure) -> DatabaseNode {
    let node = DatabaseNode(settings, facts, moves: moves, file: try NodeFile(in: directory))
    let keeper = LeaseKeeper(node)
    try await keeper.begin()
    let tasks = [Task { await keeper.keep() }, Task { await node.watch() }]
    node.state.withLock { ($0.keeper, $0.tasks) = (keeper, tasks) }
    return node
  }

  /// Reports changes every 0.5 s, since no event marks the end of a lease.
  private func watch() async {
    let clock = BootClock()
    while !Task.isCancelled {
      report()
      try? await clock.wait(until: clock.now.advanced(by: .milliseconds(500)))
    }
    reports.finish()
  }

  func report() {
    let now = BootClock().now
    // The changes are reported in the order in which they were noticed.
    state.withLock { state in
      let isValid = state.lease.isValid(at: now)
      let term = isValid ? state.roleTerm : nil
      let reported = state.reported
      state.reported = (isValid, term, state.syncEpoch)
      if isValid != reported.hasLease { reports.yield(.lease(isValid)) }
      if term != reported.roleTerm {
        // Another node may have had the role between two terms.
        if reported.roleTerm != nil { reports.yield(.role(false)) }
        if term != nil { reports.yield(.role(true)) }
      }
      if let epoch = state.syncEpoch, epoch != reported.syncEpoch {
        reports.yield(.syncEpoch(epoch))
      }
    }
  }

  /// The number of the newest attempt of any lane.
  var newestAttempt: Int64 { state.withLock { $0.attempts } }

  /// Returns the number of the next attempt. A lane may be replaced, and the numbers go on.
  func nextAttempt() -> Int64 {
    state.withLock { state in
      state.attempts += 1
      return state.attempts
    }
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

  /// Returns a name for the subject of a bus. It is the same at the nodes of this database and schema
  /// alone, since those of another server have other secrets.
  package func subject() async throws(StoreFailure) -> String {
    let lane = Lane(.logPages, of: self)
    let rows = try await lane.read([
      Command(
        """
        SELECT convert_to(left(encode(sha256(convert_to(current_database(), 'UTF8') || '\\x00'
          || convert_to(current_schema(), 'UTF8') || '\\x00' || $1), 'hex'), 32), 'UTF8')
        """, [.blob(facts.secrets)])
    ])
    await lane.close()
    guard let row = rows[0].first else { throw .other(detail: "The database has no name.") }
    return "holdfast.\(try row.text(0))"
  }

  /// The name of this machine.
  package static var hostName: String {
    var bytes = [CChar](repeating: 0, count: 256)
    let isKnown = unsafe gethostname(&bytes, bytes.count - 1) == 0
    let name = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return isKnown ? String(decoding: name, as: UTF8.self) : "unnamed"
  }

  /// The identity of this machine.
  fileprivate static var machine: String {
    let file = OwnerFile("/etc/machine-id", maxBytes: 256, isSecret: false)
    let id = (try? file.read()).flatMap { $0 }.map {
      String(decoding: $0.prefix(32), as: UTF8.self)
    }
    return "\(id ?? "") \(hostName)"
  }

  /// Gives the lease back.
  package func close() async {
    let tasks = state.withLock { state in
      (state.isClosed, state.keeper) = (true, nil)
      return state.tasks
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    handle(.left)
    file.release()
  }

  /// Changes the list of removed members of all nodes, which learn of it within 2 s.
  ///
  /// - Parameter change: Returns the new list for the stored one, which is `nil` before the first; or
  ///   `nil` to leave it as it is. It is called again if another node was faster, and after a failure
  ///   with each renewal of the lease, until it has succeeded or a newer change takes its place.
  package func changeRemovals(
    _ change: @escaping @Sendable ([UInt8]?) -> [UInt8]?
  ) async throws(StoreFailure) {
    guard let keeper = state.withLock({ $0.keeper }) else {
      throw .closed
    }
    try await keeper.changeRemovals(change)
  }

  /// The list of removed members of all nodes, at most as old as a renewal of the lease; `nil` if none
  /// was stored.
  package var removals: [UInt8]? { state.withLock { $0.removals.content } }

  fileprivate var removalsVersion: Int64 { state.withLock { $0.removals.version } }

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
    let now = BootClock().now
    state.withLock { state in
      guard connection.timeline > state.timeline else { return }
      state.changedServer = now
      state.timeline = connection.timeline
    }
    return connection
  }

  private func asked(_ rows: [Row]) throws(DatabaseFailure) -> Int64? {
    do throws(StoreFailure) {
      return try rows.first?.optionalInteger(0)
    } catch {
      throw .store(error)
    }
  }

  /// Takes a version of the list of removed members and its content.
  fileprivate func take(removals row: Row) throws(DatabaseFailure) {
    do throws(StoreFailure) {
      let list: (Int64, [UInt8]?) = (try row.integer(0), try row.optionalBlob(1) ?? [])
      let isNew = state.withLock { state in
        defer { state.removals = list }
        return state.removals != list
      }
      if isNew { reports.yield(.removals) }
    } catch {
      throw .store(error)
    }
  }

  /// Whether this node runs the services that run at one node at a time.
  package var holdsRole: Bool {
    let now = BootClock().now
    return state.withLock { $0.roleTerm != nil && $0.lease.isValid(at: now) }
  }

  /// The address of the other node that runs the services which run at one node at a time; `nil` if
  /// it is not known. It is that of the newest renewal of the lease.
  package var holder: String? {
    let now = BootClock().now
    return state.withLock { $0.lease.isValid(at: now) ? $0.holder : nil }
  }

  /// The commands that take the role if no node has it, and read what other nodes have changed.
  private var claims: [Command] {
    let changed = state.withLock { $0.changedServer }
    let mayTakeRole = NodeLease.allowsRole(afterChange: changed, at: BootClock().now)
    return [
      Command(
        "SELECT claim_role($1, $2, $3)", [.text(Self.role), .uuid(run), .flag(mayTakeRole)]),
      Command("SELECT epoch FROM sync_store"),
      Command(
        """
        SELECT a.address FROM roles r JOIN nodes n ON n.run = r.run
          JOIN node_addresses a ON a.run = r.run
        WHERE r.role = $1 AND r.run <> $2 AND n.lease_until > clock_timestamp()
        """, [.text(Self.role), .uuid(run)]),
      // The version is lower after the database was restored from a backup.
      Command(
        "SELECT version, content FROM removals WHERE version <> $1",
        [.integer(state.withLock { $0.removals.version })]),
    ]
  }

  /// Takes the responses to `claims`.
  private func take(claims rows: ArraySlice<[Row]>) throws(DatabaseFailure) {
    let rows = Array(rows)
    let term = try asked(rows[0])
    let texts = rows[1...2].map { rows in
      rows.first?.columns[0].map { String(decoding: $0, as: UTF8.self) }
    }
    state.withLock { ($0.roleTerm, $0.syncEpoch, $0.holder) = (term, texts[0], texts[1]) }
    if let row = rows[3].first { try take(removals: row) }
  }

  /// Commits a renewal of the lease. Returns false if the database has no lease of this run.
  ///
  /// It is the first act on each connection: the commit of a former primary, whose standby is gone,
  /// does not return.
  ///
  /// - Parameter claims: Whether to take the role if no node has it.
  func renew(
    _ connection: Connection, claims: Bool = false
  ) throws(DatabaseFailure) -> Bool {
    let sent = BootClock().now
    var commands = [
      Command(
        """
        UPDATE nodes SET lease_until = clock_timestamp() + $3 * interval '1 second'
        WHERE id = $1 AND run = $2 RETURNING 1
        """,
        [.uuid(id), .uuid(run), .small(Int32(NodeLease.term.components.seconds))])
    ]
    if claims, !moves { commands += self.claims }
    let rows = try connection.run(commands)
    guard !rows[0].isEmpty else { return false }
    if rows.count > 1 {
      try take(claims: rows.dropFirst())
    } else {
      // After the end of a lease another node may have the role. While this commit waited, others
      // saw the end of the lease before.
      let now = BootClock().now
      state.withLock { state in
        if !state.lease.isValid(at: now) { state.roleTerm = nil }
      }
    }
    guard connection.timeline >= timeline else { throw .lost(detail: "a newer server was found") }
    handle(.renewed(sent: sent))
    report()
    return true
  }
}

/// The connection that renews the lease of a node.
private actor LeaseKeeper {
  private let executor = QueueExecutor(label: "holdfast.lease")
  private let node: DatabaseNode
  private var connection: Connection?
  private var hasRegistered = false
  /// The change of the list of removed members that was not stored yet.
  private var change: (@Sendable ([UInt8]?) -> [UInt8]?)?

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
        if case .store(let failure) = error {
          node.handle(.taken("\(failure)"))
        } else {
          connection = nil
          node.handle(.failed(error.detail))
        }
      }
    }
    leave()
  }

  private func renew() throws(DatabaseFailure) {
    let connection = try connected()
    if hasRegistered, try node.renew(connection, claims: true) {
      return try storeChange(on: connection)
    }
    // A transaction of the former node may hold its lock for 10 s.
    let rows = try connection.run(
      [
        Command(
          "SELECT * FROM register_node($1, $2, $3, $4, $5, $6, $7, $8)",
          [
            .uuid(node.id), .uuid(node.run), .text(node.name), .text(node.place),
            .blob(node.facts.secrets), .text(node.facts.version), .flag(node.moves),
            .flag(!hasRegistered),
          ])
      ], within: .seconds(15))
    if let row = rows[0].first, let other = row.columns[0] {
      throw .store(
        .locked(
          detail: refusal(by: String(decoding: other, as: UTF8.self), row.columns[1]?.first == 1)))
    }
    hasRegistered = true
    try storeAddress(on: connection)
    guard try node.renew(connection, claims: true) else {
      throw .lost(detail: "the lease was not stored")
    }
    try storeChange(on: connection)
  }

  /// Stores the address for requests that other nodes pass on, and removes those of nodes that are gone.
  private func storeAddress(on connection: Connection) throws(DatabaseFailure) {
    var commands = [
      Command("DELETE FROM node_addresses WHERE run NOT IN (SELECT run FROM nodes)")
    ]
    if !node.facts.address.isEmpty {
      commands.append(
        Command(
          """
          INSERT INTO node_addresses(run, address) VALUES ($1, $2)
          ON CONFLICT (run) DO UPDATE SET address = excluded.address
          """, [.uuid(node.run), .text(node.facts.address)]))
    }
    _ = try connection.run(commands)
  }

  /// Returns why another node prevents this one from using the database.
  private func refusal(by other: String, _ hasOtherSecrets: Bool) -> String {
    if hasOtherSecrets {
      return "The node \(other) has other secrets, so tokens would not be valid at each node. Copy "
        + "the files secret and session-key from its data directory to the one of this node."
    }
    if node.moves {
      return "A node, \(other), uses this database. Stop all nodes before the move."
    }
    return "The node \(other) moves the content of this database, or has the same identity as this "
      + "one. Wait for the end of the move. If the data directory is a copy, remove its file \"node\"."
  }

  /// Changes the list of removed members. A change that fails is tried again after each renewal.
  func changeRemovals(
    _ change: @escaping @Sendable ([UInt8]?) -> [UInt8]?
  ) throws(StoreFailure) {
    self.change = change
    do throws(DatabaseFailure) {
      let connection = try connected()
      guard try node.renew(connection) else { throw .lost(detail: "there is no lease") }
      try storeChange(on: connection)
    } catch {
      throw error.asStoreFailure
    }
  }

  private func storeChange(on connection: Connection) throws(DatabaseFailure) {
    while let change {
      let found = try connection.run([Command("SELECT version, content FROM removals")])[0].first
      if let found { try node.take(removals: found) }
      guard let content = change(found == nil ? nil : node.removals) else {
        self.change = nil
        return
      }
      // Another node may have changed the list since it was read.
      let stored = try connection.run([
        Command(
          """
          INSERT INTO removals(version, content) VALUES (1, $1)
          ON CONFLICT (is_single) DO UPDATE
          SET version = removals.version + 1, content = excluded.content
          WHERE removals.version = $2
          RETURNING version, content
          """, [.blob(content), .integer(found == nil ? 0 : node.removalsVersion)])
      ])
      guard let row = stored[0].first else { continue }
      self.change = nil
      try node.take(removals: row)
    }
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
      ["nodes", "node_addresses"].map {
        Command("DELETE FROM \($0) WHERE run = $1", [.uuid(node.run)])
      })
    connection = nil
  }
}

/// The file `node` in a data directory: the identity of the node, and its lock.
private final class NodeFile: Sendable {
  let id: UUID128
  /// The machine and the inode.
  let place: String
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
    var status = stat()
    _ = unsafe fstat(opened, &status)
    place = "\(DatabaseNode.machine) \(status.st_dev):\(status.st_ino)"
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
