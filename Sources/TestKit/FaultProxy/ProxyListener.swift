#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The listening socket of a proxy: open, shut (connections are refused) or jammed (connections
/// hang).
struct ProxyListener {
  private static let backlog: Int32 = 128

  private let port: UInt16
  private var state: State

  private enum State {
    case open(Int32)
    case shut
    /// The listen queue is filled by the proxy's own connections, so the kernel drops all other
    /// SYNs.
    case jammed(Int32, fillers: [Int32])
  }

  init(port: UInt16) throws(FaultProxyError) {
    self.port = port
    state = .open(try Self.listener(on: port, backlog: Self.backlog))
  }

  /// Returns a waiting connection if the listener is open.
  func next() -> Int32? {
    guard case .open(let listener) = state else { return nil }
    return TCP.accepted(from: listener)?.socket
  }

  var interests: [(socket: Int32, events: Int16)] {
    guard case .open(let listener) = state else { return [] }
    return [(listener, Int16(POLLIN))]
  }

  mutating func shut() {
    switch state {
    case .open(let listener): TCP.stopListening(listener)
    case .shut: break
    case .jammed(let listener, let fillers):
      TCP.stopListening(listener)
      fillers.forEach(TCP.close)
    }
    state = .shut
  }

  mutating func open() throws(FaultProxyError) {
    switch state {
    case .open: return
    case .shut:
      state = .open(try Self.listener(on: port, backlog: Self.backlog))
    case .jammed(let listener, let fillers):
      let ports = fillers.map(TCP.localPort)
      var others: [Int32] = []
      while let (socket, port) = TCP.accepted(from: listener) {
        if ports.contains(port) { TCP.close(socket) } else { others.append(socket) }
      }
      // A jammed queue should contain only the proxy's own connections. Any other connection is
      // reset.
      others.forEach(TCP.reset)
      fillers.forEach(TCP.close)
      try TCP.listening(listener, backlog: Self.backlog)
      state = .open(listener)
    }
  }

  mutating func jam() throws(FaultProxyError) {
    if case .jammed = state { return }
    if case .shut = state { try open() }
    guard case .open(let listener) = state else { return }
    #if os(Linux) || os(Android)
      // A queue of length 0 accepts one connection. The second filler is never answered.
      try TCP.listening(listener, backlog: 0)
      let fillers = [try TCP.connecting(to: port), try TCP.connecting(to: port)]
      state = .jammed(listener, fillers: fillers)
    #endif
  }

  private static func listener(
    on port: UInt16, backlog: Int32
  ) throws(FaultProxyError) -> Int32 {
    let socket = try TCP.bound(to: port)
    do throws(FaultProxyError) {
      try TCP.listening(socket, backlog: backlog)
    } catch {
      TCP.close(socket)
      throw error
    }
    return socket
  }
}
