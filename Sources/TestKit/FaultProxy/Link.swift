#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// A proxied connection: a client's socket, an upstream socket, and a flow in each direction.
struct Link {
  enum Outcome: Equatable {
    case open
    case closed
  }

  private enum Side {
    case client
    case upstream
  }

  private let client: Int32
  private let upstream: Int32
  private var up = Flow()
  private var down = Flow()
  private var isConnecting = true
  /// Whether a socket failed during a silence. The failure is concealed until the silence ends.
  private var isBroken = false
  private var blocked: Set<Int32> = []
  /// Whether nothing passes any more, whatever the fault is.
  private var isStranded = false

  init(client: Int32, upstream: Int32, fault: Fault) {
    self.client = client
    self.upstream = upstream
    set(fault)
  }

  mutating func set(_ fault: Fault) {
    guard !isStranded else { return }
    (up.course, down.course) = Self.courses(of: fault)
    if case .cutAfter(let bytes) = fault { down.allowance = bytes } else { down.allowance = nil }
  }

  /// Makes the connection silent for good. It ends when the client ends it.
  mutating func strand() {
    set(.blackhole(Blackhole(fate: .swallowed)))
    isStranded = true
  }

  /// Transfers the available bytes, and passes the number sent in each direction to `moved`.
  mutating func turn(
    _ ready: [Int32: Int16], at now: Flow.Moment, moved: (_ up: Int, _ down: Int) -> Void
  ) -> Outcome {
    for socket in ready.keys { blocked.remove(socket) }
    if isConnecting, let events = ready[upstream] {
      if events & Int16(POLLOUT) == 0 || TCP.connectFailed(upstream) { return reset() }
      isConnecting = false
    }
    if let events = ready[client], events != Int16(POLLOUT) { read(.client, at: now) }
    if !isConnecting, let events = ready[upstream], events != Int16(POLLOUT) {
      read(.upstream, at: now)
    }
    if !isConnecting { moved(write(to: .upstream, at: now), 0) }
    moved(0, write(to: .client, at: now))
    if isBroken, !isSilent { return reset() }
    if isStranded, isBroken || up.hasEnd { return reset() }
    if down.isExhausted { return close() }
    return up.endSent && down.endSent ? close() : .open
  }

  /// Returns the sockets and events to wait for.
  func interests(at now: Flow.Moment) -> [(socket: Int32, events: Int16)] {
    guard !isBroken else { return [] }
    let toClient = events(reading: up, writing: down, blocked.contains(client), at: now)
    let toUpstream = events(
      reading: down, writing: up, isConnecting || blocked.contains(upstream), at: now)
    return [(client, toClient), (upstream, toUpstream)].filter { $0.1 != 0 }
  }

  func deadline(after now: Flow.Moment) -> Flow.Moment? {
    [up, down].compactMap { $0.deadline(after: now) }.min()
  }

  /// Closes both sides with a FIN.
  func close() -> Outcome {
    for socket in [client, upstream] {
      // Unread bytes would turn the FIN into a RST.
      while case .bytes = TCP.read(socket) {}
      TCP.end(socket)
      TCP.close(socket)
    }
    return .closed
  }

  /// Closes both sides with a RST.
  func reset() -> Outcome {
    TCP.reset(client)
    TCP.reset(upstream)
    return .closed
  }

  private var isSilent: Bool {
    [up.course, down.course].contains { $0 == .hold || $0 == .discard }
  }

  private func events(
    reading: Flow, writing: Flow, _ isBlocked: Bool, at now: Flow.Moment
  ) -> Int16 {
    (reading.hasRoom ? Int16(POLLIN) : 0) | (isBlocked ? Int16(POLLOUT) : 0)
  }

  private mutating func read(_ side: Side, at now: Flow.Moment) {
    var flow = side == .client ? up : down
    guard flow.hasRoom, !isBroken else { return }
    switch TCP.read(side == .client ? client : upstream) {
    case .bytes(let bytes): flow.take(bytes, at: now)
    case .end: flow.takeEnd(at: now)
    case .broken: isBroken = true
    case .nothing: break
    }
    if side == .client { up = flow } else { down = flow }
  }

  /// Writes the bytes that are due, and returns the number of bytes written.
  private mutating func write(to side: Side, at now: Flow.Moment) -> Int {
    let socket = side == .client ? client : upstream
    var flow = side == .client ? down : up
    var count = 0
    sending: while !blocked.contains(socket), !isBroken {
      let bytes = flow.ready(at: now)
      guard !bytes.isEmpty else { break }
      switch TCP.write(socket, bytes) {
      case .sent(let sent):
        flow.sent(sent, at: now)
        count += sent
      case .full: blocked.insert(socket)
      case .broken:
        isBroken = true
        break sending
      }
    }
    if flow.endIsReady(at: now) {
      TCP.end(socket)
      flow.sentEnd()
    }
    if side == .client { down = flow } else { up = flow }
    return count
  }

  private static func courses(of fault: Fault) -> (up: Flow.Course, down: Flow.Course) {
    switch fault {
    case .pass, .refuse, .cut, .reset, .cutAfter, .answer: (.pass, .pass)
    case .delay(let delay): (.delay(delay), .delay(delay))
    case .rate(let rate): (.rate(rate), .rate(rate))
    case .blackhole(let hole):
      (
        hole.reach == .down ? .pass : hole.fate == .held ? .hold : .discard,
        hole.reach == .up ? .pass : hole.fate == .held ? .hold : .discard
      )
    }
  }
}
