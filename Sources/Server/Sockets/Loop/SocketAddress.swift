import CHoldfastLinux
import Glibc
import HoldfastCore

/// An IPv4 or IPv6 address and port.
struct SocketAddress {
  private var storage = sockaddr_storage()
  private var length: socklen_t = 0

  var family: Int32 { Int32(storage.ss_family) }

  /// Passes the address to a function that makes a system call.
  func withRaw<R>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
    unsafe withUnsafePointer(to: storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
    }
  }

  private mutating func withMutableRaw<R>(
    _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> R
  ) -> R {
    length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe withUnsafeMutablePointer(to: &length) { unsafe body(address, $0) }
      }
    }
  }

  /// Resolves `host` to the addresses to listen on. The call may block while a name is resolved.
  ///
  /// `localhost` stands for both loopback addresses, whatever the hosts file of this machine
  /// contains (RFC 6761).
  static func resolve(_ host: String, port: UInt16) throws(SocketServerError) -> [SocketAddress] {
    guard host != "localhost" else {
      return try lookUp("127.0.0.1", port: port) + lookUp("::1", port: port)
    }
    return try lookUp(host, port: port)
  }

  /// Creates an address from numbers. Returns `nil` for a name.
  init?(numeric host: String, port: UInt16) {
    guard let found = try? Self.lookUp(host, port: port, flags: AI_NUMERICHOST).first else {
      return nil
    }
    self = found
  }

  /// Creates the address of a Unix domain socket. Returns `nil` if the path is too long.
  init?(path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
      return nil
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    unsafe withUnsafeBytes(of: address) { source in
      unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.copyMemory(from: source) }
    }
    length = socklen_t(MemoryLayout<sockaddr_un>.size)
  }

  private init() {}

  private static func lookUp(
    _ host: String, port: UInt16, flags: Int32 = AI_PASSIVE
  ) throws(SocketServerError) -> [SocketAddress] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = flags
    var list: UnsafeMutablePointer<addrinfo>? = nil
    let failure = unsafe getaddrinfo(host, String(port), &hints, &list)
    guard failure == 0 else {
      throw .address(host: host, detail: unsafe String(cString: gai_strerror(failure)))
    }
    defer { unsafe freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = unsafe list
    while let info = unsafe next {
      var address = SocketAddress()
      unsafe address.fill(from: info.pointee)
      addresses.append(address)
      unsafe next = info.pointee.ai_next
    }
    return addresses
  }

  private mutating func fill(from info: addrinfo) {
    guard let source = unsafe info.ai_addr else { return }
    length = unsafe info.ai_addrlen
    unsafe withUnsafeMutableBytes(of: &storage) { target in
      unsafe target.copyMemory(from: .init(start: source, count: Int(info.ai_addrlen)))
    }
  }

  /// Whether the address is the file of a Unix domain socket on which no server listens any more.
  var isAbandoned: Bool {
    // The server may be there and not accept, so the call must not wait.
    let client = socket(
      family,
      Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
    guard client >= 0 else { return false }
    defer { close(client) }
    return unsafe withRaw { unsafe connect(client, $0, $1) } != 0 && errno == ECONNREFUSED
  }

  /// Returns the address that a socket is bound to.
  static func local(of descriptor: Int32) -> SocketAddress? {
    var address = SocketAddress()
    let result = unsafe address.withMutableRaw { unsafe getsockname(descriptor, $0, $1) }
    return result == 0 ? address : nil
  }

  /// Returns the address of a socket's peer.
  static func peer(of descriptor: Int32) -> SocketAddress? {
    var address = SocketAddress()
    let result = unsafe address.withMutableRaw { unsafe getpeername(descriptor, $0, $1) }
    return result == 0 ? address : nil
  }

  /// Returns the user who has connected to a Unix domain socket (`SO_PEERCRED`); `nil` for another
  /// socket.
  static func user(atOtherEndOf descriptor: Int32) -> UInt32? {
    guard local(of: descriptor)?.family == AF_UNIX else { return nil }
    // The layout of `struct ucred`, which the C library declares only for _GNU_SOURCE: the process,
    // its user and its group (unix(7)).
    var credentials = [UInt32](repeating: 0, count: 3)
    var length = socklen_t(MemoryLayout<UInt32>.stride * credentials.count)
    let result = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
    return result == 0 ? credentials[1] : nil
  }

  /// The numeric address without the port. The address of an IPv4 client of an IPv6 socket has IPv4
  /// form.
  var text: String? {
    digits.map { $0.hasPrefix("::ffff:") ? String($0.dropFirst(7)) : $0 }
  }

  /// The address without port and zone; `nil` unless the family is IPv4 or IPv6.
  var address: NetworkAddress? {
    unsafe withUnsafeBytes(of: storage) { bytes in
      switch family {
      case AF_INET: NetworkAddress(bytes: unsafe Array(bytes[4..<8]))
      case AF_INET6: NetworkAddress(bytes: unsafe Array(bytes[8..<24]))
      case _: nil
      }
    }
  }

  private var digits: String? {
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let failure = unsafe withRaw { address, length in
      unsafe getnameinfo(
        address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    }
    guard failure == 0 else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// The port. Both families store it in the same two bytes, with the most significant one first.
  var port: UInt16 {
    get { unsafe withUnsafeBytes(of: storage) { unsafe UInt16($0[2]) << 8 | UInt16($0[3]) } }
    set {
      unsafe withUnsafeMutableBytes(of: &storage) { bytes in
        unsafe bytes[2] = UInt8(newValue >> 8)
        unsafe bytes[3] = UInt8(truncatingIfNeeded: newValue)
      }
    }
  }

  /// Whether an IPv6 address is the unspecified address, `::`.
  var isAny: Bool {
    unsafe withUnsafeBytes(of: storage) { unsafe $0[8..<24].allSatisfy { $0 == 0 } }
  }
}
