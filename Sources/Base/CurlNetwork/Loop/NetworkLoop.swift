import CHoldfastCurl
import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastSocketEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The owner of all libcurl handles and sockets, which are used only on the loop's thread.
actor NetworkLoop {
  nonisolated let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private let configuration: CurlConfiguration
  private let buffer = Buffer()
  private let clock = BootClock()
  private let share: Share
  /// The client for the next request. The request may reuse its connections.
  private var rest: RestClient?
  /// The clients whose connections were forgotten. They are kept until their requests in progress
  /// end.
  private var leaving: [RestClient] = []
  private var sockets: [UInt64: SocketConnection] = [:]
  private var nextID: UInt64 = 0
  private let poller: Poller
  /// The transfers that the next dial joins, as long as they have room.
  private var dials: Transfers?
  /// The sockets that have bytes to write.
  private var writers: [UInt64] = []
  /// The sockets that can be read without waiting.
  private var readers: [UInt64] = []
  /// The sockets with a deadline. An open socket has none.
  private var timed: Set<UInt64> = []

  /// The maximum number of dials in a multi handle. Each handle takes 37 kB and two descriptors.
  /// For each read and write, libcurl searches for the stream among all streams of the handle.
  private static let mostDials = 32

  init?(_ configuration: CurlConfiguration) {
    guard let executor = LoopExecutor(), let share = Share(), let poller = Poller(),
      poller.watch(executor.wakeReader, .read, for: .wake)
    else { return nil }
    self.executor = executor
    self.configuration = configuration
    self.share = share
    self.poller = poller
  }

  /// Whether no socket exists and no request is in progress.
  var isIdle: Bool {
    sockets.isEmpty && clients.allSatisfy(\.isIdle)
  }

  /// Frees all libcurl objects. This is the last action on the thread.
  func release() {
    rest = nil
    leaving = []
    sockets = [:]
    dials = nil
  }

  private var clients: [RestClient] { leaving + (rest.map { [$0] } ?? []) }
}

// MARK: Sockets

extension NetworkLoop {
  func open(
    _ request: SocketRequest, mostInTurn: Int,
    deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) -> UInt64 {
    nextID += 1
    let context = Dial.Context(
      number: nextID, share: share, poller: poller, buffer: buffer,
      transfers: { self.transfersWithRoom() })
    let socket = SocketConnection(
      request, limits: configuration.limits, clock: clock, mostInTurn: mostInTurn, deliver: deliver
    ) { () throws(LinkFailure) in
      try Dial(request, context, configuration: configuration)
    }
    sockets[nextID] = socket
    afterChange(nextID, socket)
    return nextID
  }

  private func transfersWithRoom() -> Transfers? {
    if let dials, dials.count < Self.mostDials { return dials }
    // A handle has room again once some of its sockets are closed. This search runs once per
    // `mostDials` dials.
    let used = sockets.values.lazy.compactMap { ($0.connected as? Dial)?.transfers }
    dials = used.first { $0.count < Self.mostDials } ?? Transfers(poller)
    return dials
  }

  func send(_ id: UInt64, text: [UInt8]) -> SocketSending {
    change(id) { $0.send(text: text) } ?? .closed
  }

  func send(_ id: UInt64, binary: [UInt8]) -> SocketSending {
    change(id) { $0.send(binary: binary) } ?? .closed
  }

  func send(_ id: UInt64, raw: [UInt8]) -> SocketSending {
    change(id) { $0.send(raw: raw) } ?? .closed
  }

  func takeCompressedMessages(_ id: UInt64) -> Int {
    sockets[id]?.takeCompressedMessages() ?? 0
  }

  func ping(_ id: UInt64, _ ping: UInt64) {
    change(id) { $0.ping(ping) }
  }

  /// Changes a socket, if it still exists, and then performs the resulting actions.
  @discardableResult
  private func change<R>(_ id: UInt64, _ body: (SocketConnection) -> R) -> R? {
    guard let socket = sockets[id] else { return nil }
    defer { afterChange(id, socket) }
    return body(socket)
  }

  /// Closes a socket. Returns when the peer has also closed the connection, or after a second.
  func close(_ id: UInt64, code: UInt16, reason: String) async {
    guard let socket = sockets[id] else { return }
    socket.close(code: code, reason: reason)
    afterChange(id, socket)
    await withCheckedContinuation { continuation in
      // The socket may have closed while this task changed its executor.
      if socket.isClosed { return continuation.resume() }
      socket.closers.append(continuation)
    }
  }

  /// Closes a socket whose handle was dropped.
  func abandon(_ id: UInt64) {
    // Code 1001 means that an endpoint goes away (RFC 6455 section 7.4.1).
    change(id) { $0.close(code: 1001, reason: "") }
  }

  /// Performs the actions that follow from a change of a socket.
  private func afterChange(_ id: UInt64, _ socket: SocketConnection) {
    if socket.canWrite, writers.last != id { writers.append(id) }
    if socket.canReadOn, readers.last != id { readers.append(id) }
    if socket.deadline == nil { timed.remove(id) } else { timed.insert(id) }
    if socket.mustDeliver {
      socket.isDelivering = true
      Task { await deliver(id, socket.deliver) }
    } else if socket.isFinished {
      sockets[id] = nil
    }
  }

  /// Delivers the events turn by turn, and continues reading once all have been delivered.
  private func deliver(
    _ id: UInt64, _ deliver: @Sendable ([SocketEvent]) async -> Void
  ) async {
    while let turn = sockets[id]?.takeTurn(), !turn.isEmpty {
      await deliver(turn)
    }
    guard let socket = sockets[id] else { return }
    socket.handedOut()
    afterChange(id, socket)
  }
}

// MARK: REST

extension NetworkLoop {
  func send(_ request: HTTPCall) async -> Result<HTTPAnswer, LinkFailure> {
    nextID += 1
    let id = nextID
    return await withTaskCancellationHandler {
      await start(id, request)
    } onCancel: {
      Task { await cancel(id) }
    }
  }

  /// Starts a request. This is a method because a closure that does not use the actor would not run
  /// on it.
  private func start(
    _ id: UInt64, _ request: HTTPCall
  ) async -> Result<HTTPAnswer, LinkFailure> {
    guard let rest = readyRest() else {
      return .failure(.local(detail: "libcurl could not be set up."))
    }
    return await withCheckedContinuation { rest.start(id, request, $0) }
  }

  func forgetConnections() {
    leaving = clients.filter { !$0.isIdle }
    rest = nil
  }

  private func cancel(_ id: UInt64) {
    for client in clients { client.cancel(id) }
  }

  private func readyRest() -> RestClient? {
    if rest == nil { rest = RestClient(configuration: configuration, share: share, poller: poller) }
    return rest
  }
}

// MARK: Turns

extension NetworkLoop {
  /// Writes queued bytes, waits for the next activity, and handles it.
  ///
  /// Only sockets with activity are visited.
  func turn() {
    leaving.removeAll(where: \.isIdle)
    write()
    for (descriptor, readiness) in poller.wait(executor.hasNews ? 0 : sleepTime()) {
      act(on: descriptor, readiness)
    }
    readOn()
    passTime()
  }

  private func write() {
    for id in take(&writers) { change(id) { $0.flush() } }
  }

  private func readOn() {
    for id in take(&readers) where sockets[id]?.canReadOn == true {
      change(id) { $0.read() }
    }
  }

  private func take(_ list: inout [UInt64]) -> [UInt64] {
    defer { list = [] }
    return list
  }

  /// Returns the time to sleep in milliseconds; -1 if there is no limit. It is rounded up, so that
  /// no turn is too early.
  private func sleepTime() -> Int32 {
    if !readers.isEmpty { return 0 }
    let deadlines = timed.compactMap { sockets[$0]?.deadline } + clients.compactMap(\.deadline)
    guard let next = deadlines.min() else { return -1 }
    let wait = clock.now.duration(to: next)
    guard wait > .zero else { return 0 }
    let milliseconds = (wait + .nanoseconds(999_999)) / .milliseconds(1)
    return Int32(min(milliseconds, Double(Int32.max)))
  }

  private func act(on descriptor: Int32, _ readiness: Readiness) {
    switch poller[descriptor] {
    case .wake: executor.drainWake()
    case .transfers(let transfers):
      transfers.act(on: descriptor, readiness)
      collect(transfers)
    case .socket(let id): change(id) { $0.wakeUp() }
    case nil: break
    }
  }

  private func collect(_ transfers: Transfers) {
    if let client = clients.first(where: { $0.transfers === transfers }) {
      return client.collect()
    }
    while let (id, result) = transfers.nextDone() {
      change(id) { socket in
        guard let dial = socket.dialing as? Dial else { return }
        // A dial may connect and fail within one turn.
        dial.noteProgress(at: clock.now)
        socket.finishDial(dial.failure(result))
      }
    }
  }

  private func passTime() {
    let now = clock.now
    for client in clients { client.tick(at: now) }
    for id in timed {
      (sockets[id]?.dialing as? Dial)?.noteProgress(at: now)
      if let transfers = sockets[id]?.transfers, let due = transfers.deadline, due <= now {
        transfers.tick()
        collect(transfers)
      }
      if let limit = sockets[id]?.limit, limit <= now { change(id) { $0.expire() } }
    }
  }
}

extension SocketConnection {
  /// The transfers that perform the dial.
  fileprivate var transfers: Transfers? { (dialing as? Dial)?.transfers }

  /// The next time at which the socket must be handled even if there is no activity.
  fileprivate var deadline: Instant? {
    guard let next = transfers?.deadline else { return limit }
    return min(next, limit ?? next)
  }
}
