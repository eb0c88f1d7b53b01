import CHoldfastLinux
import Glibc

/// A listening socket.
final class Listener: Sendable {
  let descriptor: Int32
  /// The purpose of the address.
  let kind: ListenerKind
  /// Whether another program has passed the socket, and may listen on it after this one.
  let isInherited: Bool
  /// The path of the socket's file, which is removed at the end; `nil` for none.
  private let file: String?

  /// Creates a socket that listens on an address. Its descriptor closes when the last reference is
  /// released.
  init(
    _ address: SocketAddress, host: String, _ kind: ListenerKind
  ) throws(SocketServerError) {
    (self.kind, isInherited, file) = (kind, false, nil)
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

  /// Takes over a socket that listens already, such as one that systemd has passed.
  init(inherited descriptor: Int32, _ kind: ListenerKind) throws(SocketServerError) {
    (self.descriptor, self.kind, isInherited, file) = (descriptor, kind, true, nil)
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) >= 0,
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) >= 0, listen(descriptor, SOMAXCONN) == 0
    else {
      throw .system(call: "listen", errno: errno)
    }
  }

  /// Creates a Unix domain socket, which only the user of this process may use.
  ///
  /// Replaces the socket of a server that has ended, and no other file.
  init(path: String, _ kind: ListenerKind) throws(SocketServerError) {
    (self.kind, isInherited) = (kind, false)
    guard let address = SocketAddress(path: path) else {
      throw .address(host: path, detail: "the path is longer than 107 bytes")
    }
    let made = socket(
      AF_UNIX,
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard made >= 0 else { throw .system(call: "socket", errno: errno) }
    // The mode of the descriptor becomes that of the file.
    fchmod(made, 0o600)
    // A connection to a file that is no socket is refused, too.
    var found = stat()
    if unsafe lstat(path, &found) == 0, found.st_mode & S_IFMT == S_IFSOCK, address.isAbandoned {
      unsafe unlink(path)
    }
    let isBound = unsafe address.withRaw { unsafe bind(made, $0, $1) == 0 }
    let cause = errno
    (descriptor, file) = (made, isBound ? path : nil)
    guard isBound, listen(made, SOMAXCONN) == 0 else {
      throw .bind(host: path, port: 0, errno: isBound ? errno : cause)
    }
  }

  deinit {
    if let file { unsafe unlink(file) }
    close(descriptor)
  }

  /// Creates a listener for each address, all on the port of the first one. Skips an address family
  /// that this machine does not have.
  static func all(
    _ addresses: [SocketAddress], host: String, _ kind: ListenerKind = .clients
  ) throws(SocketServerError) -> [Listener] {
    var made: [Listener] = []
    var missing = SocketServerError.address(host: host, detail: "no address")
    for var address in addresses {
      if let first = made.first { address.port = first.port }
      do throws(SocketServerError) {
        made.append(try Listener(address, host: host, kind))
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
      // A Unix domain socket has no such option, and needs none.
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
