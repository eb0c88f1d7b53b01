#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The socket calls of the proxy, for non-blocking IPv4 loopback sockets.
enum TCP {
  enum Read {
    case bytes(ArraySlice<UInt8>)
    case nothing
    case end
    case broken
  }

  enum Write {
    case sent(Int)
    case full
    case broken
  }

  #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    private static let noSignal = Int32(MSG_NOSIGNAL)
  #elseif canImport(Musl) || canImport(Android)
    private static let stream = SOCK_STREAM | SOCK_CLOEXEC
    private static let noSignal = Int32(MSG_NOSIGNAL)
  #else
    private static let stream = SOCK_STREAM
    private static let noSignal: Int32 = 0
  #endif

  /// Returns a socket that is bound to `port`, or to a free port if `port` is 0.
  ///
  /// The socket refuses connections until it listens.
  static func bound(to port: UInt16) throws(FaultProxyError) -> Int32 {
    let socket = try open()
    set(socket, SO_REUSEADDR)
    #if canImport(Darwin)
      set(socket, SO_REUSEPORT)
    #endif
    guard (unsafe withAddress(port) { unsafe bind(socket, $0, $1) }) == 0 else {
      let failure = failed("bind")
      close(socket)
      throw failure
    }
    return socket
  }

  /// Returns a connecting socket. It becomes writable once it connects, and reports an error if it fails.
  static func connecting(to port: UInt16) throws(FaultProxyError) -> Int32 {
    let socket = try open()
    let result = unsafe withAddress(port) { unsafe connect(socket, $0, $1) }
    guard result == 0 || errno == EINPROGRESS else {
      let failure = failed("connect")
      close(socket)
      throw failure
    }
    return socket
  }

  static func listening(_ socket: Int32, backlog: Int32) throws(FaultProxyError) {
    guard listen(socket, backlog) == 0 else { throw failed("listen") }
  }

  /// Returns the next waiting connection and its source port.
  static func accepted(from listener: Int32) -> (socket: Int32, port: UInt16)? {
    let socket = accept(listener, nil, nil)
    guard socket >= 0 else { return nil }
    prepare(socket)
    return (socket, port(of: socket, isPeer: true))
  }

  static func localPort(of socket: Int32) -> UInt16 { port(of: socket, isPeer: false) }

  /// Returns whether a pending connection attempt has failed.
  static func connectFailed(_ socket: Int32) -> Bool {
    var error: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0
  }

  static func read(_ socket: Int32) -> Read {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(socket, &buffer, buffer.count, 0)
    if count > 0 { return .bytes(buffer[..<count]) }
    if count == 0 { return .end }
    return isPassing(errno) ? .nothing : .broken
  }

  static func write(_ socket: Int32, _ bytes: ArraySlice<UInt8>) -> Write {
    let count = unsafe bytes.withUnsafeBytes {
      unsafe send(socket, $0.baseAddress, $0.count, noSignal)
    }
    if count >= 0 { return .sent(count) }
    return isPassing(errno) ? .full : .broken
  }

  /// Sends a FIN. The other direction remains open.
  static func end(_ socket: Int32) { _ = shutdown(socket, Int32(SHUT_WR)) }

  static func close(_ socket: Int32) {
    systemClose(socket)
  }

  /// Closes a listening socket. Connections are refused once this method returns.
  ///
  /// A child process that is being started briefly holds a copy of every descriptor, so a call of
  /// close(2) alone could take effect late. The same applies to `reset`.
  static func stopListening(_ socket: Int32) {
    _ = shutdown(socket, Int32(SHUT_RDWR))
    close(socket)
  }

  /// Closes the socket with a RST.
  static func reset(_ socket: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    let size = socklen_t(MemoryLayout.size(ofValue: linger))
    _ = unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, size)
    #if os(Linux) || os(Android)
      // Dissolving the association sends the RST even if another process has a copy of the
      // descriptor.
      var nobody = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: sockaddr().sa_data)
      _ = unsafe connect(socket, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    #endif
    close(socket)
  }

  static func failed(_ call: String) -> FaultProxyError {
    FaultProxyError(call: call, code: errno)
  }

  private static func open() throws(FaultProxyError) -> Int32 {
    let socket = socket(AF_INET, stream, 0)
    guard socket >= 0 else { throw failed("socket") }
    prepare(socket)
    return socket
  }

  /// Prepares a socket: it does not block, is not inherited, raises no SIGPIPE, and sends small
  /// segments without delay.
  static func prepare(_ socket: Int32) {
    _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    _ = unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size)
    #if canImport(Darwin)
      set(socket, SO_NOSIGPIPE)
    #endif
  }

  private static func set(_ socket: Int32, _ option: Int32) {
    var on: Int32 = 1
    _ = unsafe setsockopt(socket, SOL_SOCKET, option, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func isPassing(_ code: Int32) -> Bool {
    code == EAGAIN || code == EWOULDBLOCK || code == EINTR || code == ENOTCONN
  }

  private static func withAddress<R>(
    _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let size = MemoryLayout.size(ofValue: address)
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe body($0, socklen_t(size))
      }
    }
  }

  private static func port(of socket: Int32, isPeer: Bool) -> UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout.size(ofValue: address))
    let result = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        isPeer ? unsafe getpeername(socket, $0, &size) : unsafe getsockname(socket, $0, &size)
      }
    }
    return result == 0 ? UInt16(bigEndian: address.sin_port) : 0
  }
}

/// Calls close(2), since `close` inside the type refers to its own method.
private func systemClose(_ socket: Int32) { _ = close(socket) }
