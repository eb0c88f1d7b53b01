#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The reason why a radio on a socket cannot be used, as human-readable text.
public struct RadioSocketError: Error, Sendable, Hashable, CustomStringConvertible {
  public let description: String

  init(_ what: String, _ path: String, _ code: Int32) {
    let reason = unsafe String(cString: strerror(code))
    description = "\(what) \(path): \(reason)"
  }

  fileprivate init(noSocket path: String) {
    description = "\(path) is not a socket"
  }

  fileprivate init(tooLong path: String) {
    description = "the path \(path) is too long for a socket; choose one of at most 100 bytes"
  }
}

/// The system calls for Unix sockets. All descriptors are non-blocking and closed by exec.
enum LocalSocket {
  /// Connects to a socket; `nil` if no peripheral listens on the socket.
  static func connect(to path: String) throws(RadioSocketError) -> Int32? {
    let (descriptor, code) = try attempt(path)
    if code == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// Connects a new descriptor, which the caller must close. Returns it with the `errno`, or with 0
  /// after success.
  private static func attempt(
    _ path: String
  ) throws(RadioSocketError) -> (descriptor: Int32, code: Int32) {
    let descriptor = try make(path)
    let result = unsafe try address(path) { unsafe systemConnect(descriptor, $0, $1) }
    return (descriptor, result == 0 ? 0 : errno)
  }

  /// Checks that it is possible to connect to a path, now or later.
  static func check(_ path: String) throws(RadioSocketError) {
    let (descriptor, code) = try attempt(path)
    close(descriptor)
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
      throw RadioSocketError(noSocket: path)
    }
    // In these cases the peripheral is out of range or busy, and may become available later.
    guard ![0, ENOENT, ECONNREFUSED, EAGAIN, EINPROGRESS].contains(code) else { return }
    throw RadioSocketError("cannot connect to", path, code)
  }

  /// Listens on a socket that only its owner can access. Replaces a socket file that another
  /// process left behind.
  static func listen(on path: String) throws(RadioSocketError) -> Int32 {
    let (used, refusal) = try attempt(path)
    close(used)
    // These codes mean that there is no file or that its listener has ended. A socket that is full
    // or of another type is in use.
    guard [ENOENT, ECONNREFUSED].contains(refusal) else {
      let isUsed = [0, EAGAIN, EPROTOTYPE].contains(refusal)
      throw RadioSocketError("cannot listen on", path, isUsed ? EADDRINUSE : refusal)
    }
    var status = stat()
    if unsafe lstat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFSOCK else {
        throw RadioSocketError("cannot listen on", path, EEXIST)
      }
      unsafe unlink(path)
    }
    let descriptor = try make(path)
    let mask = umask(0o077)
    let result = unsafe try address(path) { unsafe bind(descriptor, $0, $1) }
    let code = errno
    umask(mask)
    guard result == 0, systemListen(descriptor) == 0 else {
      close(descriptor)
      throw RadioSocketError("cannot listen on", path, code)
    }
    return descriptor
  }

  /// Accepts a connection; `nil` if none is pending.
  static func accept(on descriptor: Int32) -> Int32? {
    let taken = systemAccept(descriptor)
    guard taken >= 0 else { return nil }
    prepare(taken)
    return taken
  }

  /// Reads the available bytes. Returns an empty array at the end of the stream, and `nil` if no
  /// bytes are available.
  static func read(_ descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe systemRead(descriptor, &buffer, buffer.count)
      if count >= 0 { return Array(buffer.prefix(count)) }
      if errno == EINTR { continue }
      return errno == EAGAIN ? nil : []
    }
  }

  /// Writes all bytes. Returns false if the peer is gone or does not read.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe systemSend(descriptor, $0.baseAddress?.advanced(by: sent), bytes.count - sent)
      }
      if count > 0 {
        sent += count
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  private static func make(_ path: String) throws(RadioSocketError) -> Int32 {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_UNIX, kind, 0)
    guard descriptor >= 0 else { throw RadioSocketError("cannot make a socket for", path, errno) }
    prepare(descriptor)
    return descriptor
  }

  private static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  private static func address(
    _ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(RadioSocketError) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count <= 100, !bytes.isEmpty else { throw RadioSocketError(tooLong: path) }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    return unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call($0, length) }
    }
  }
}

// The methods of this file hide the system calls with the same names.
private func systemConnect(
  _ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t
) -> Int32 { unsafe connect(descriptor, address, length) }

private func systemListen(_ descriptor: Int32) -> Int32 { listen(descriptor, 8) }

private func systemAccept(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }

private func systemRead(
  _ descriptor: Int32, _ buffer: UnsafeMutablePointer<UInt8>, _ count: Int
) -> Int { unsafe read(descriptor, buffer, count) }

private func systemSend(
  _ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int
) -> Int {
  #if canImport(Glibc)
    unsafe send(descriptor, bytes, count, Int32(MSG_NOSIGNAL))
  #else
    unsafe send(descriptor, bytes, count, 0)
  #endif
}

extension LocalSocket {
  static func end(_ descriptor: Int32) { close(descriptor) }

  /// Removes a socket's file.
  static func remove(_ path: String) { unsafe unlink(path) }
}
