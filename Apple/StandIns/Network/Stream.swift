import Glibc

/// A connected socket. It is closed when the last reference is released.
final class Stream: Sendable {
  private let descriptor: Int32

  /// Connects to an endpoint, and blocks until this has succeeded or failed.
  ///
  /// - Parameter keep: Stores the stream before it connects, so that a cancel can end the wait. It
  ///   returns false after a cancel.
  init(_ endpoint: NWEndpoint, keep: (Stream) -> Bool) throws(NWError) {
    guard case .hostPort(.name(let host, _), let port) = endpoint else {
      throw .posix(.EAFNOSUPPORT)
    }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port.rawValue)", &hints, &found) == 0, let address = found else {
      // kDNSServiceErr_NoSuchRecord
      throw .dns(-65_554)
    }
    defer { freeaddrinfo(address) }
    let entry = address.pointee
    descriptor = socket(entry.ai_family, entry.ai_socktype, entry.ai_protocol)
    guard keep(self) else { throw .posix(.ECANCELED) }
    guard connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 else { throw Self.lastError }
  }

  deinit {
    _ = close(descriptor)
  }

  /// Ends both directions, and any call that is in progress.
  func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Waits for bytes. An empty result is the end of the stream.
  func read(atMost most: Int) -> Result<Data, NWError> {
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: most, alignment: 1)
    let count = recv(descriptor, buffer, most, 0)
    guard count >= 0 else {
      buffer.deallocate()
      return .failure(Self.lastError)
    }
    return .success(
      Data(
        bytesNoCopy: buffer, count: count,
        deallocator: .custom { pointer, _ in pointer.deallocate() }))
  }

  /// Writes the bytes that fit at once, and returns their number.
  func writeNow(_ bytes: [UInt8]) -> Int {
    let count = bytes.withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    return max(0, count)
  }

  /// Writes all bytes.
  func write(_ bytes: [UInt8]) -> NWError? {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return Self.lastError }
      written += count
    }
    return nil
  }

  private static var lastError: NWError { .posix(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
