public import HoldfastCore
import HoldfastProtocols

/// The connections of one server and the commands for them. It is used only on the server's loop.
///
/// A command does not call the handler. Later events report its results. A command for a connection
/// or request that no longer exists has no effect.
@safe public final class SocketHub {
  /// The time of the current turn of the loop.
  public internal(set) var now: Instant
  /// The number of connections in all phases.
  public internal(set) var connectionCount = 0
  /// Those that operators have opened, for metrics or administration, in order of their acceptance.
  private(set) var operators: [ConnectionID] = []
  /// The maximum of their number. A further one takes the place of one that waits for a request.
  static let maxOperatorConnections = 64

  let configuration: SocketServerConfiguration
  /// The state for connections that are accepted from now on. Open connections keep theirs.
  var tls: TLSContext?
  let poller: Poller
  let home: LoopHome
  /// The buffer for all reads and writes. Connections have no buffers of their own.
  let scratch: UnsafeMutableRawBufferPointer
  /// The size of `scratch`.
  static let scratchBytes = 65_536
  var listeners: [Listener] = []
  var acceptance = Acceptance.open
  var limit: ConnectionLimit
  var alarms = AlarmQueue<ConnectionID>()
  var alarm: Instant?
  /// The time at which the remaining connections are closed; `nil` unless the server is stopping.
  var stopsAt: Instant?
  /// The connections with buffered bytes. The poller does not report them as ready.
  var unread: [ConnectionID] = []
  private var slots: [Connection?] = []
  private var free: [UInt32] = []
  private var serial: UInt32 = 0
  private var requestCount: UInt64 = 0
  private var events: [SocketEvent] = []
  private var touched: [ConnectionID] = []

  /// Whether new connections are accepted.
  enum Acceptance {
    case open
    /// The limit was reached, or there are no more descriptors. Acceptance resumes when a
    /// connection ends, or at the time of `retry`.
    case paused(retry: Instant?)
  }

  init(_ configuration: SocketServerConfiguration, on loop: EventLoop) throws(SocketServerError) {
    self.configuration = configuration
    limit = ConnectionLimit(bound: configuration.maxConnectionsPerAddress)
    if let files = configuration.tls { tls = try TLSContext(files) } else { tls = nil }
    poller = try Poller()
    home = LoopHome(loop)
    if let cause = poller.add(loop.wakeDescriptor, .read, token: 0) {
      throw .system(call: "epoll_ctl", errno: cause)
    }
    unsafe scratch = .allocate(byteCount: Self.scratchBytes, alignment: 16)
    now = Clock.now
  }

  deinit {
    unsafe scratch.deallocate()
  }

  /// Starts work on the loop, which must not compute for long or block. Only the loop calls this
  /// method.
  ///
  /// When this method returns, the work has ended or waits. It continues between two turns of the
  /// loop.
  public func start(_ work: @escaping @Sendable () async -> Void) {
    home.assumeIsolated { $0.start(work) }
  }

  // MARK: Connections

  func connection(_ id: ConnectionID) -> Connection? {
    guard let found = connection(at: id.slot), found.id == id else { return nil }
    return found
  }

  /// Returns the connection that is currently in a slot.
  func connection(at slot: UInt32) -> Connection? {
    slot < slots.count ? slots[Int(slot)] : nil
  }

  /// Every connection, by slot.
  var connections: [Connection] { slots.compactMap(\.self) }

  /// Returns the ID of the next connection. Serials start at 1, because 0 denotes other
  /// descriptors.
  func nextID() -> ConnectionID {
    serial = serial == .max ? 1 : serial + 1
    return ConnectionID(serial: serial, slot: free.popLast() ?? UInt32(slots.count))
  }

  /// Returns the ID of the next request. IDs increase across all connections of the server.
  func nextRequest(on connection: ConnectionID) -> RequestID {
    requestCount += 1
    return RequestID(count: requestCount, slot: connection.slot)
  }

  func insert(_ connection: Connection) {
    let slot = Int(connection.id.slot)
    if slot == slots.count { slots.append(connection) } else { slots[slot] = connection }
    connectionCount += 1
    if !connection.kind.isLimited { operators.append(connection.id) }
  }

  /// Releases an ID that no connection uses.
  func discard(_ id: ConnectionID) {
    guard id.slot < slots.count else { return }
    free.append(id.slot)
  }

  /// Ends a connection immediately. Its descriptor closes when the last reference is released.
  func destroy(_ connection: Connection, as ending: SocketEnding) {
    guard self.connection(connection.id) === connection else { return }
    switch connection.phase {
    case .open(let session): end(connection, session, ending)
    case .exchange(let exchange):
      if exchange.announced != nil { noteCut(exchange, exchange.reader.takePart()?.body) }
      if let request = exchange.unanswered { emit(.abandoned(request)) }
    case .passing(let passage): part(connection, passage, ending)
    case .handshake, .leaving, .lingering: break
    }
    leaveLimit(connection)
    poller.remove(connection.descriptor)
    slots[Int(connection.id.slot)] = nil
    free.append(connection.id.slot)
    connectionCount -= 1
    if !connection.kind.isLimited { operators.removeAll { $0 == connection.id } }
    resumeAccepting()
  }

  // MARK: Events

  func emit(_ event: SocketEvent) {
    events.append(event)
  }

  func takeEvents() -> [SocketEvent] {
    defer { events = [] }
    return events
  }

  // MARK: Work at the end of the turn

  /// Schedules a visit of a connection at the end of this turn. The visit writes the queue and
  /// updates the interest.
  func touch(_ connection: Connection) {
    guard !connection.isTouched else { return }
    connection.isTouched = true
    touched.append(connection.id)
  }

  /// Returns the connections to visit. They are IDs, since the references to many connections would
  /// be released after all of them were visited, when they are no longer in the processor's cache.
  func takeTouched() -> [ConnectionID] {
    defer { touched = [] }
    return touched
  }

  /// Whether there is more work to do in this turn.
  var hasEvents: Bool { !events.isEmpty || !touched.isEmpty }

  /// Whether the next wait must not block.
  var hasWork: Bool { hasEvents || !unread.isEmpty }

  // MARK: Time

  /// Sets the time limit of the current phase in place of any earlier one; `nil` for no limit.
  func limit(_ connection: Connection, to duration: Duration?) {
    connection.deadline = duration.map { now.advanced(by: $0) }
    guard let deadline = connection.deadline else { return }
    if !alarms.rings(connection.id, by: deadline) { alarms.set(connection.id, at: deadline) }
  }
}

/// Stopping the server.
extension SocketHub {
  /// Stops accepting connections, asks existing ones to close, and allows them time until
  /// `instant`.
  func beginStopping(until instant: Instant) {
    stopsAt = instant
    closeListeners()
    for connection in connections { dismiss(connection) }
  }

  /// Whether all connections have ended or their time is over.
  var hasStopped: Bool {
    guard let stopsAt else { return false }
    return connectionCount == 0 || stopsAt <= now
  }

  /// Closes the remaining connections.
  func cutAll() {
    for connection in connections {
      connection.shutWriting()
      destroy(connection, as: .stopped)
    }
  }

  private func dismiss(_ connection: Connection) {
    switch connection.phase {
    case .handshake: destroy(connection, as: .stopped)
    case .exchange(let exchange):
      guard case .reading = exchange.stage else { return }
      if exchange.announced != nil { noteCut(exchange, exchange.reader.takePart()?.body) }
      leave(connection)
    case .open: close(connection.id, code: 1001, reason: "server stops")
    case .passing, .leaving, .lingering: break
    }
  }
}
