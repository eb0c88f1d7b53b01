import CHoldfastOpenSSL
import Glibc
public import HoldfastCore

/// The state that TLS connections share: certificate, versions, and the keys of session tickets.
///
/// Each value has ticket keys of its own, so a session cannot be resumed with another certificate
/// than the one that the client has verified.
@safe public final class TLSContext {
  private let context: OpaquePointer

  /// Creates the state from the two files.
  ///
  /// - Throws: `.tls` if a file cannot be used, or if the key is not that of the certificate.
  public init(_ files: TLSFiles) throws(SocketServerError) {
    ERR_clear_error()
    guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
      throw .tls(detail: TLSContext.lastError())
    }
    unsafe self.context = context
    configure()
    preferCiphers()
    try load(files)
  }

  deinit {
    unsafe SSL_CTX_free(context)
  }

  /// The start of the certificate's validity (notBefore, RFC 5280 section 4.1.2.5).
  public var start: Timestamp {
    unsafe Self.time(SSL_CTX_get0_certificate(context).flatMap { unsafe X509_get0_notBefore($0) })
  }

  /// The end of the certificate's validity (notAfter, RFC 5280 section 4.1.2.5). The certificates of
  /// its chain may end earlier.
  public var expiry: Timestamp {
    unsafe Self.time(SSL_CTX_get0_certificate(context).flatMap { unsafe X509_get0_notAfter($0) })
  }

  /// Returns a time of a certificate; the earliest of all if there is none, or it is malformed.
  private static func time(_ found: UnsafePointer<ASN1_TIME>?) -> Timestamp {
    var time = unsafe tm()
    guard let found = unsafe found, unsafe ASN1_TIME_to_tm(found, &time) == 1 else {
      return Timestamp(seconds: .min, nanoseconds: 0)
    }
    return Timestamp(seconds: Int64(unsafe timegm(&time)), nanoseconds: 0)
  }

  /// Creates the TLS state of an accepted socket; `nil` if memory is exhausted.
  func makeStream(on descriptor: Int32) -> TLSStream? {
    ERR_clear_error()
    guard let stream = unsafe SSL_new(context) else { return nil }
    guard unsafe SSL_set_fd(stream, descriptor) == 1 else {
      unsafe SSL_free(stream)
      return nil
    }
    unsafe SSL_set_accept_state(stream)
    return unsafe TLSStream(owning: stream)
  }

  /// Returns a description of the oldest entry in OpenSSL's error queue.
  static func lastError() -> String {
    let code = ERR_get_error()
    guard code != 0 else { return "no reason given" }
    if let reason = unsafe ERR_reason_error_string(code) { return unsafe String(cString: reason) }
    // With ERR_SYSTEM_FLAG, the other bits are an errno, which the table of reasons does not
    // contain.
    guard code & 0x8000_0000 != 0 else { return "error \(code)" }
    return unsafe String(cString: strerror(Int32(truncatingIfNeeded: code & 0x7FFF_FFFF)))
  }

  /// Sets the versions, modes and tickets.
  ///
  /// The minimum is TLS 1.2 (RFC 8996). Sessions are stored in tickets, so that the server stores
  /// none. One ticket is enough, because a client opens one connection at a time and receives a new
  /// ticket with each.
  private func configure() {
    unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    let modes =
      SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
      | SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN
    unsafe SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(modes), nil)
    unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
    unsafe SSL_CTX_set_num_tickets(context, 1)
    unsafe SSL_CTX_set_options(context, holdfast_tls_options())
    unsafe SSL_CTX_set_alpn_select_cb(context, selectProtocol, nil)
  }

  /// Prefers AES-128 among the ciphers of TLS 1.3. Its key schedule uses SHA-256, which is faster
  /// than SHA-384.
  ///
  /// A client that lists ChaCha20 first has no AES instructions, so ChaCha20 is used.
  private func preferCiphers() {
    unsafe SSL_CTX_set_ciphersuites(
      context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256")
  }

  private func load(_ files: TLSFiles) throws(SocketServerError) {
    let (chain, key) = (files.certificatePath, files.keyPath)
    guard unsafe SSL_CTX_use_certificate_chain_file(context, chain) == 1 else {
      throw .tls(detail: "\(chain): \(Self.lastError())")
    }
    guard unsafe SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
      throw .tls(detail: "\(key): \(Self.lastError())")
    }
  }
}

/// Selects `http/1.1` from the client's offer. Ends the handshake if the offer does not contain it.
///
/// RFC 7301 section 3.2 requires the fatal alert no_application_protocol if there is no common
/// protocol.
private func selectProtocol(
  _ stream: OpaquePointer?, _ selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ selectedCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?,
  _ offeredCount: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let wanted = Array("http/1.1".utf8)
  let names = unsafe UnsafeBufferPointer(start: offered, count: Int(offeredCount))
  var index = 0
  while index < names.count {
    let start = index + 1
    let end = unsafe start + Int(names[index])
    guard end <= names.count else { break }
    if unsafe names[start..<end].elementsEqual(wanted) {
      unsafe selected?.pointee = names.baseAddress.map { unsafe $0 + start }
      unsafe selectedCount?.pointee = UInt8(wanted.count)
      return SSL_TLSEXT_ERR_OK
    }
    index = end
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL
}
