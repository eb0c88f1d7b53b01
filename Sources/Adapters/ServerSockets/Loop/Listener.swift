import CHoldfastLinux
import Glibc

/// A listening socket.
final class Listener: Sendable {
  let descriptor: Int32
  /// Whether other nodes connect here.
  let isForNodes: Bool

  /// Creates a socket that listens on an address. Its descriptor closes when the last reference is
  /// released.
  init(
    _ address: SocketAddress, host: String, isForNodes: Bool
  ) throws(SocketServerError) {
    self.isForNodes = isForNodes
    descriptor = socket(
      address.family,
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { throw .system(call: "socket", errno: errno) }
    setOption(SOL_SOCKET, SO_REUSEADDR, 1, on: descriptor)
    if address.family == AF_INET6 {
      setOption(
        Int32(IPPROTO_IPV6), IPV6_V6ONLY, address.isAny ? 0 : 1, on: descriptor)
    }
    let isBound = unsafe address.withRaw { unsafe bind(descriptor, $0, $1) == 0 }
    guard isBound, listen(descriptor, SOMAXCONN) == 0 else {
      throw .bind(host: host, port: address.port, errno: errno)
    }
  }

  deinit {
    close(descriptor)
  }

  /// Creates a listener for each address, all on the port of the first one. Skips an address family
  /// that this machine does not have.
  static func all(
    _ addresses: [SocketAddress], host: String, isForNodes: Bool = false
  ) throws(SocketServerError) -> [Listener] {
    var made: [Listener] = []
    var missing = SocketServerError.address(host: host, detail: "no address")
    for var address in addresses {
      if let first = made.first { address.port = first.port }
      do throws(SocketServerError) {
        made.append(try Listener(address, host: host, isForNodes: isForNodes))
      } catch {
        switch error {
        case .bind(_, _, EADDRNOTAVAIL), .system(_, EAFNOSUPPORT): missing = error
        case .address, .bind, .tls, .system, .alreadyStarted: throw error
        }
      }
    }
    guard !made.isEmpty else { throw missing }
    return made
  }

  /// The port that the listener is bound to.
  var port: UInt16 { SocketAddress.local(of: descriptor)?.port ?? 0 }

  /// The result of accepting one connection.
  enum Outcome {
    case connection(Int32)
    case nothing
    /// This connection has already ended or failed. The next one may be usable.
    case aborted
    /// There are no more descriptors, or there is no memory.
    case exhausted(errno: Int32)
  }

  /// Accepts one connection, and configures it for the loop.
  func accept() -> Outcome {
    let accepted = accept4(
      descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue))
    guard accepted < 0 else {
      setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1, on: accepted)
      return .connection(accepted)
    }
    switch errno {
    case EAGAIN, EWOULDBLOCK: return .nothing
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(errno: errno)
    case _: return .aborted
    }
  }
}

func setOption(_ level: Int32, _ name: Int32, _ value: Int32, on descriptor: Int32) {
  var value = value
  unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
}
