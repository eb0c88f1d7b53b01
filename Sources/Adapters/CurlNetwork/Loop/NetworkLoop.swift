import CCurl
import LinkCore
import LinkRuntime

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Owns every handle of libcurl and every socket; all of it lives on the loop's thread.
actor NetworkLoop {
  nonisolated let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private let configuration: CurlConfiguration
  private let buffer = Buffer()
  private let share: Share
  /// Takes the next request, and keeps the connections it may use.
  private var rest: RestClient?
  /// Those whose connections were forgotten, until what they have under way ends.
  private var leaving: [RestClient] = []
  private var sockets: [UInt64: SocketConnection] = [:]
  private var nextID: UInt64 = 0
  private var polled: [pollfd] = []
  private var owners: [Owner] = []

  /// Whose descriptor stands at a place of `polled`.
  private enum Owner {
    case wake
    case rest(RestClient)
    case socket(UInt64)
  }

  init?(_ configuration: CurlConfiguration) {
    guard let executor = LoopExecutor(), let share = Share() else { return nil }
    self.executor = executor
    self.configuration = configuration
    self.share = share
  }

  /// Nothing is open, under way or being delivered.
  var isIdle: Bool {
    sockets.isEmpty && clients.allSatisfy(\.isIdle)
  }

  /// Frees what libcurl holds; the last thing that happens on the thread.
  func release() {
    rest = nil
    leaving = []
    sockets = [:]
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
    let socket = SocketConnection(
      request, configuration: configuration, share: share, mostInTurn: mostInTurn,
      deliver: deliver)
    sockets[nextID] = socket
    settle(nextID, socket)
    return nextID
  }

  func send(_ id: UInt64, text: [UInt8]) -> Bool {
    sockets[id]?.send(text: text) ?? false
  }

  func send(_ id: UInt64, binary: [UInt8]) -> Bool {
    sockets[id]?.send(binary: binary) ?? false
  }

  func ping(_ id: UInt64, _ ping: UInt64) {
    sockets[id]?.ping(ping)
  }

  /// Returns when the peer closed too, or after a second.
  func close(_ id: UInt64, code: UInt16, reason: String) async {
    guard let socket = sockets[id] else { return }
    socket.close(code: code, reason: reason)
    settle(id, socket)
    guard !socket.isClosed else { return }
    await withCheckedContinuation { socket.closers.append($0) }
  }

  /// Closes for a handle that nobody holds any more.
  func abandon(_ id: UInt64) {
    guard let socket = sockets[id] else { return }
    // RFC 6455 section 7.4.1: 1001, the endpoint goes away.
    socket.close(code: 1001, reason: "")
    settle(id, socket)
  }

  /// Starts what a change of the socket calls for.
  private func settle(_ id: UInt64, _ socket: SocketConnection) {
    if socket.mustDeliver {
      socket.isDelivering = true
      Task { await deliver(id, socket.deliver) }
    } else if socket.isFinished {
      sockets[id] = nil
    }
  }

  /// Hands out one turn after the other, and reads on when all are taken.
  private func deliver(
    _ id: UInt64, _ deliver: @Sendable ([SocketEvent]) async -> Void
  ) async {
    while let turn = sockets[id]?.takeTurn(), !turn.isEmpty {
      await deliver(turn)
    }
    guard let socket = sockets[id] else { return }
    socket.handedOut()
    settle(id, socket)
  }
}

// MARK: REST

extension NetworkLoop {
  func send(_ request: HTTPRequest) async -> Result<HTTPResponse, LinkFailure> {
    nextID += 1
    let id = nextID
    return await withTaskCancellationHandler {
      await start(id, request)
    } onCancel: {
      Task { await cancel(id) }
    }
  }

  /// A method, since a closure that does not name the actor would run beside it.
  private func start(
    _ id: UInt64, _ request: HTTPRequest
  ) async -> Result<HTTPResponse, LinkFailure> {
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
    if rest == nil { rest = RestClient(configuration: configuration, share: share) }
    return rest
  }
}

// MARK: Turns

extension NetworkLoop {
  /// Writes what is queued, sleeps until something happens, and takes it in.
  func turn() {
    prepare()
    let count = nfds_t(polled.count)
    let timeout = executor.hasNews ? 0 : sleepTime()
    let ready = unsafe poll(&polled, count, timeout)
    if ready > 0 { dispatch() }
    readOn()
    passTime()
  }

  private func prepare() {
    polled.removeAll(keepingCapacity: true)
    owners.removeAll(keepingCapacity: true)
    watch(executor.wakeReader, .read, for: .wake)
    leaving.removeAll(where: \.isIdle)
    for client in clients {
      for (descriptor, readiness) in client.watched {
        watch(descriptor, readiness, for: .rest(client))
      }
    }
    for (id, socket) in sockets {
      socket.flush()
      settle(id, socket)
      for (descriptor, readiness) in socket.watched {
        watch(descriptor, readiness, for: .socket(id))
      }
    }
  }

  private func watch(_ descriptor: Int32, _ readiness: Readiness, for owner: Owner) {
    polled.append(pollfd(fd: descriptor, events: readiness.poll, revents: 0))
    owners.append(owner)
  }

  /// Milliseconds for `poll`, rounded up so that no turn comes too early; -1 without end.
  private func sleepTime() -> Int32 {
    if sockets.values.contains(where: \.canReadOn) { return 0 }
    let deadlines = sockets.values.compactMap(\.deadline) + clients.compactMap(\.deadline)
    guard let next = deadlines.min() else { return -1 }
    let wait = ContinuousClock.now.duration(to: next)
    guard wait > .zero else { return 0 }
    let milliseconds = (wait + .nanoseconds(999_999)) / .milliseconds(1)
    return Int32(min(milliseconds, Double(Int32.max)))
  }

  private func dispatch() {
    for (place, entry) in polled.enumerated() where entry.revents != 0 {
      let readiness = Readiness(poll: entry.revents)
      switch owners[place] {
      case .wake: executor.drainWake()
      case .rest(let client): client.act(on: entry.fd, readiness)
      case .socket(let id):
        guard let socket = sockets[id] else { continue }
        socket.act(on: entry.fd, readiness)
        settle(id, socket)
      }
    }
  }

  private func readOn() {
    for (id, socket) in sockets where socket.canReadOn {
      socket.read(into: buffer)
      settle(id, socket)
    }
  }

  private func passTime() {
    let now = ContinuousClock.now
    for client in clients { client.tick(at: now) }
    for (id, socket) in sockets {
      guard let deadline = socket.deadline, deadline <= now else { continue }
      socket.tick(at: now)
      settle(id, socket)
    }
  }
}

extension Readiness {
  fileprivate var poll: Int16 {
    Int16((contains(.read) ? POLLIN : 0) | (contains(.write) ? POLLOUT : 0))
  }

  /// An error or a hang-up counts as both: reading or writing finds out which it is.
  fileprivate init(poll events: Int16) {
    self = []
    if Int32(events) & ~Int32(POLLOUT) != 0 { insert(.read) }
    if Int32(events) & ~Int32(POLLIN) != 0 { insert(.write) }
  }
}
