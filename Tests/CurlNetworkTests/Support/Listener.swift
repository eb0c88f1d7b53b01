import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A TCP port on 127.0.0.1. It is reserved until this object is released.
final class Listener: Sendable {
  let descriptor: Int32
  let port: UInt16

  /// Binds a free port. If there is no backlog, connections are refused.
  init(backlog: Int32? = 64) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let file = descriptor
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(file, pointer, length) == 0
          && backlog.map { listen(file, $0) } ?? 0 == 0
          && getsockname(file, pointer, &length) == 0
      }
    }
    guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit {
    _ = close(descriptor)
  }

  /// Connects to the port and waits for at most 100 ms.
  func call() -> Caller {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    _ = fcntl(file, F_SETFL, O_NONBLOCK)
    var address = Self.loopback(port)
    _ = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    var entry = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
    return Caller(descriptor: file, isConnected: unsafe poll(&entry, 1, 100) == 1)
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

/// An idle connection. It is closed when this object is released.
final class Caller {
  private let descriptor: Int32
  let isConnected: Bool

  init(descriptor: Int32, isConnected: Bool) {
    (self.descriptor, self.isConnected) = (descriptor, isConnected)
  }

  deinit {
    _ = close(descriptor)
  }
}
