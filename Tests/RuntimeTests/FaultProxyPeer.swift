import Foundation

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A blocking TCP socket. Its blocking calls run on separate threads.
struct Peer: Sendable {
  /// The result of waiting for bytes.
  enum Received: Equatable {
    case bytes(String)
    case end
    case reset
    /// No bytes arrived within the socket's time-out.
    case silence
  }

  enum Connected {
    case open(Peer)
    case failed(Int32)

    var peer: Peer? {
      guard case .open(let peer) = self else { return nil }
      return peer
    }
  }

  let socket: Int32
  var port: UInt16 { Self.port(of: socket) }

  /// Listens on a free port of 127.0.0.1.
  static func listening() -> Peer {
    let peer = Peer(socket: stream())
    _ = unsafe withAddress(0) { unsafe bind(peer.socket, $0, $1) }
    _ = listen(peer.socket, 16)
    return peer
  }

  /// Connects to `port` of 127.0.0.1. Fails if this takes longer than `timeLimit` milliseconds.
  static func connect(to port: UInt16, timeLimit: Int = 600_000) async -> Connected {
    await waiting {
      let peer = Peer(socket: stream())
      peer.setPatience(timeLimit)
      let result = unsafe withAddress(port) { unsafe Self.connect(peer.socket, $0, $1) }
      if result == 0 { return .open(peer) }
      let code = errno
      peer.close()
      return .failed(code)
    }
  }

  func accept() async -> Peer {
    await Self.waiting { [socket] in
      let peer = Peer(socket: Self.accept(socket))
      // Otherwise a child process of another test would keep the connection open.
      _ = fcntl(peer.socket, F_SETFD, FD_CLOEXEC)
      return peer
    }
  }

  func send(_ text: String) async {
    await Self.waiting { [socket] in
      var left = Array(text.utf8)[...]
      while !left.isEmpty {
        let count = unsafe left.withUnsafeBytes {
          unsafe Self.send(socket, $0.baseAddress, $0.count)
        }
        guard count > 0 else { return }
        left = left.dropFirst(count)
      }
    }
  }

  /// Waits for `count` bytes, the end of the stream, a reset, or the time-out.
  func receive(_ count: Int, timeLimit: Int = 600_000) async -> Received {
    await Self.waiting { [self] in
      setPatience(timeLimit)
      var received: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4_096)
      while received.count < count {
        let got = unsafe recv(socket, &buffer, min(buffer.count, count - received.count), 0)
        if got == 0 {
          return received.isEmpty ? .end : .bytes(String(decoding: received, as: UTF8.self))
        }
        if got < 0 { return errno == ECONNRESET ? .reset : .silence }
        received += buffer[..<got]
      }
      return .bytes(String(decoding: received, as: UTF8.self))
    }
  }

  func finish() { _ = shutdown(socket, Int32(SHUT_WR)) }

  /// Closes the socket and releases its descriptor. This method must be called only once.
  func close() {
    // A child that another test starts may briefly have a copy of the descriptor. Without
    // `shutdown`, closing could then take effect late.
    _ = shutdown(socket, Int32(SHUT_RDWR))
    Self.close(socket)
  }

  private func setPatience(_ milliseconds: Int) {
    var time = timeval(tv_sec: milliseconds / 1000, tv_usec: .init(milliseconds % 1000 * 1000))
    let size = socklen_t(MemoryLayout<timeval>.size)
    _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    _ = unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, size)
  }

  private static func waiting<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }
}

// These functions call the system functions that have the same names as methods of `Peer`.
extension Peer {
  #if canImport(Glibc)
    private static func stream() -> Int32 {
      Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    private static func accept(_ socket: Int32) -> Int32 { Glibc.accept(socket, nil, nil) }
    private static func close(_ socket: Int32) { _ = Glibc.close(socket) }
    private static func send(_ socket: Int32, _ base: UnsafeRawPointer?, _ count: Int) -> Int {
      unsafe Glibc.send(socket, base, count, Int32(MSG_NOSIGNAL))
    }
    private static func connect(
      _ socket: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t
    ) -> Int32 { unsafe Glibc.connect(socket, address, size) }
  #else
    private static func stream() -> Int32 { Darwin.socket(AF_INET, SOCK_STREAM, 0) }
    private static func accept(_ socket: Int32) -> Int32 { Darwin.accept(socket, nil, nil) }
    private static func close(_ socket: Int32) { _ = Darwin.close(socket) }
    private static func send(_ socket: Int32, _ base: UnsafeRawPointer?, _ count: Int) -> Int {
      unsafe Darwin.send(socket, base, count, 0)
    }
    private static func connect(
      _ socket: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t
    ) -> Int32 { unsafe Darwin.connect(socket, address, size) }
  #endif

  private static func withAddress<R>(
    _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let size = socklen_t(MemoryLayout.size(ofValue: address))
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, size) }
    }
  }

  private static func port(of socket: Int32) -> UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout.size(ofValue: address))
    _ = unsafe withUnsafeMutablePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(socket, $0, &size)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}
