import HoldfastCore
package import HoldfastPorts

/// A socket over a transport. It runs the engine, and delivers its events.
///
/// It runs on the queue of its transport, so that a report needs no change of threads. All sockets of
/// a network share the queue.
package actor TransportSocket {
  private let socket: SocketConnection
  private let executor: QueueExecutor
  /// The task that ends the current stage when it has lasted too long, and that stage's time limit.
  private var timer: Task<Void, Never>?
  private var timed: Instant?
  private let clock: any LinkClock

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  private init(
    _ request: SocketRequest, limits: SocketLimits, clock: any LinkClock, mostInTurn: Int,
    deliver: @escaping @Sendable ([SocketEvent]) async -> Void,
    dial: Result<TransportDial, LinkFailure>, executor: QueueExecutor
  ) {
    (self.executor, self.clock) = (executor, clock)
    socket = SocketConnection(
      request, limits: limits, clock: clock, mostInTurn: mostInTurn, deliver: deliver
    ) { () throws(LinkFailure) in
      TransportStream(try dial.get())
    }
  }

  /// Opens a socket and returns its handle. A dial that `dial` rejects is reported as an event.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures time-outs.
  ///   - mostInTurn: The maximum number of events in a delivery.
  ///   - executor: The executor of the queue on which the transport reports.
  ///   - dial: A function that makes the transport.
  package static func open(
    _ request: SocketRequest, limits: SocketLimits, clock: any LinkClock, mostInTurn: Int,
    on executor: QueueExecutor, deliver: @escaping @Sendable ([SocketEvent]) async -> Void,
    dial: () throws(LinkFailure) -> TransportDial
  ) async -> any SocketHandle {
    let dial = Result { () throws(LinkFailure) in try dial() }
    let socket = TransportSocket(
      request, limits: limits, clock: clock, mostInTurn: mostInTurn, deliver: deliver, dial: dial,
      executor: executor)
    await socket.start()
    return TransportHandle(socket)
  }

  /// Starts the transport. Its reports keep the socket until the transport is released.
  private func start() {
    let stream = socket.dialing as? TransportStream
    stream?.start { [executor] report in
      executor.run { self.assumeIsolated { $0.take(report) } }
    }
    settle()
  }

  private func take(_ report: TransportReport) {
    let stream = (socket.dialing ?? socket.connected) as? TransportStream
    stream?.note(report)
    switch report {
    case .connected:
      socket.finishDial(nil)
      socket.wakeUp()
    case .failed(let failure):
      socket.finishDial(failure)
      socket.wakeUp()
    case .stalled: socket.stall()
    case .received, .ended, .sent, .sendFailed: socket.wakeUp()
    }
    settle()
  }

  /// Performs the actions that follow from a change of the socket.
  private func settle() {
    while socket.canWrite || socket.canReadOn {
      if socket.canWrite { socket.flush() }
      if socket.canReadOn { socket.read() }
    }
    setTimer()
    if socket.mustDeliver {
      socket.isDelivering = true
      Task { await deliver() }
    }
  }

  /// Delivers the events turn by turn, and continues reading once all have been delivered.
  private func deliver() async {
    while case let turn = socket.takeTurn(), !turn.isEmpty {
      await socket.deliver(turn)
    }
    socket.handedOut()
    settle()
  }

  private func setTimer() {
    guard socket.limit != timed else { return }
    timed = socket.limit
    timer?.cancel()
    timer = timed.map { limit in
      Task {
        guard (try? await clock.wait(until: limit)) != nil else { return }
        expire(limit)
      }
    }
  }

  private func expire(_ limit: Instant) {
    guard socket.limit == limit else { return }
    socket.expire()
    settle()
  }
}

extension TransportSocket {
  fileprivate func change<Value>(_ body: (SocketConnection) -> Value) -> Value {
    defer { settle() }
    return body(socket)
  }

  fileprivate func send(text: [UInt8]) -> SocketSending { change { $0.send(text: text) } }

  fileprivate func send(binary: [UInt8]) -> SocketSending { change { $0.send(binary: binary) } }

  fileprivate func send(raw: [UInt8]) -> SocketSending { change { $0.send(raw: raw) } }

  fileprivate func takeCompressedMessages() -> Int { socket.takeCompressedMessages() }

  fileprivate func ping(_ id: UInt64) { change { $0.ping(id) } }

  /// Closes the socket. Returns when the peer has also closed the connection, or after a second.
  fileprivate func close(code: UInt16, reason: String) async {
    change { $0.close(code: code, reason: reason) }
    await withCheckedContinuation { continuation in
      // The socket may have closed while this task changed its executor.
      if socket.isClosed { return continuation.resume() }
      socket.closers.append(continuation)
    }
  }

  /// Closes a socket whose handle was dropped.
  fileprivate func abandon() {
    // Code 1001 means that an endpoint goes away (RFC 6455 section 7.4.1).
    change { $0.close(code: 1001, reason: "") }
  }
}

private final class TransportHandle: RawSocketHandle {
  private let socket: TransportSocket

  init(_ socket: TransportSocket) {
    self.socket = socket
  }

  deinit {
    Task { [socket] in await socket.abandon() }
  }

  func send(text: [UInt8]) async -> SocketSending { await socket.send(text: text) }

  func send(binary: [UInt8]) async -> SocketSending { await socket.send(binary: binary) }

  func send(raw: [UInt8]) async -> SocketSending { await socket.send(raw: raw) }

  func takeCompressedMessages() async -> Int { await socket.takeCompressedMessages() }

  func ping(id: UInt64) async { await socket.ping(id) }

  func close(code: UInt16, reason: String) async {
    await socket.close(code: code, reason: reason)
  }
}
