import CHoldfastOpenSSL
import Glibc

/// The result of a read.
enum ReadOutcome {
  case bytes(Int)
  case wouldBlock
  case end
  case failed(String)
}

/// The result of a write.
enum WriteOutcome {
  case bytes(Int)
  case wouldBlock
  case failed(String)
}

/// The result of continuing a TLS handshake.
enum HandshakeOutcome {
  case done
  case wants(Interest)
  case failed(String)
}

/// The TLS state of a connection.
///
/// OpenSSL's error queue belongs to the thread and affects the result of each call, so it is
/// cleared before each call.
@safe final class TLSStream {
  private let stream: OpaquePointer

  init(owning stream: OpaquePointer) {
    unsafe self.stream = stream
  }

  deinit {
    unsafe SSL_free(stream)
  }

  /// Whether OpenSSL has buffered bytes. The socket is not readable because of them.
  var hasPending: Bool { unsafe SSL_has_pending(stream) == 1 }

  func handshake() -> HandshakeOutcome {
    ERR_clear_error()
    let result = unsafe SSL_do_handshake(stream)
    guard result != 1 else { return .done }
    switch failure(of: result) {
    case .wants(let interest): return .wants(interest)
    case .end: return .failed("ended")
    case .broken(let detail): return .failed(detail)
    }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadOutcome {
    ERR_clear_error()
    let count = unsafe SSL_read(stream, buffer.baseAddress, Int32(clamping: buffer.count))
    guard count <= 0 else { return .bytes(Int(count)) }
    switch failure(of: count) {
    case .wants: return .wouldBlock
    case .end: return .end
    case .broken(let detail): return .failed(detail)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> WriteOutcome {
    ERR_clear_error()
    let count = unsafe SSL_write(stream, bytes.baseAddress, Int32(clamping: bytes.count))
    guard count <= 0 else { return .bytes(Int(count)) }
    switch failure(of: count) {
    case .wants: return .wouldBlock
    case .end: return .failed("ended")
    case .broken(let detail): return .failed(detail)
    }
  }

  /// Sends close_notify without waiting for a response. This ends the server's side of the stream.
  func sayGoodbye() {
    ERR_clear_error()
    unsafe SSL_shutdown(stream)
  }

  private enum Failure {
    case wants(Interest)
    case end
    case broken(String)
  }

  private func failure(of result: Int32) -> Failure {
    let cause = errno
    switch unsafe SSL_get_error(stream, result) {
    case SSL_ERROR_WANT_READ: return .wants(.read)
    case SSL_ERROR_WANT_WRITE: return .wants(.write)
    case SSL_ERROR_ZERO_RETURN: return .end
    case SSL_ERROR_SYSCALL: return cause == 0 ? .end : .broken("errno \(cause)")
    case _: return .broken(TLSContext.lastError())
    }
  }
}
