import CHoldfastCurl
import HoldfastCore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The unsuccessful end of a transfer, or of a call on a connected stream.
struct Outcome: Equatable {
  var code: CURLcode
  /// The `errno` of the last failed system call, or 0.
  var systemError: Int32 = 0
  /// OpenSSL's result of verifying the certificate: an `X509_V_ERR_…` number, or 0.
  var verification: Int = 0
  /// The status in the proxy's response to the tunnel request, or 0.
  var tunnelStatus: Int = 0
  var text: String
  /// The phase that was in progress.
  var phase: LinkFailure.Phase
  var host: String

  /// The failure that corresponds to the outcome. Dials, streams and REST use the same
  /// classification.
  var failure: LinkFailure {
    if tunnelStatus != 0, !(200..<300).contains(tunnelStatus) {
      return .proxy(detail: "The proxy answered \(tunnelStatus).")
    }
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST: return .dns(detail: text)
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY: return .proxy(detail: text)
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: return connectFailure
    case CURLE_OPERATION_TIMEDOUT: return .timeout(phase)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      return .tls(verificationReason, detail: text)
    case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM: return .tls(.other, detail: text)
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED: return handshakeFailure
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: return streamFailure ?? .ended
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR: return streamFailure ?? .reset
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      CURLE_BAD_CONTENT_ENCODING:
      return .protocolError(detail: text)
    // libcurl uses this code for a header line above its limit of 100 kB. Since version 8.6 it has
    // a separate code.
    case CURLE_OUT_OF_MEMORY where phase == .response, CURLcode(rawValue: 100):
      return .protocolError(detail: "A field of the answer's head is too long.")
    // `Transfers` uses this code for a descriptor that cannot be watched.
    case CURLE_ABORTED_BY_CALLBACK: return Self.unwatched
    case _: return .local(detail: text)
    }
  }

  static let unwatched = LinkFailure.local(detail: "The system cannot watch more descriptors.")

  private var connectFailure: LinkFailure {
    if let peer = contactedHost, peer != Self.unbracketed(host) { return .proxy(detail: text) }
    switch systemError {
    case ECONNREFUSED: return .refused
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL: return .unreachable(detail: text)
    case ETIMEDOUT: return .timeout(.connect)
    case ECONNRESET, ECONNABORTED: return .reset
    case EMFILE, ENFILE, ENOBUFS, ENOMEM, EACCES, EPERM: return .local(detail: text)
    case _: return .unreachable(detail: text)
    }
  }

  /// The host that libcurl's text about a failed connect contains. If there is a proxy, it is the
  /// proxy's.
  private var contactedHost: String? {
    let parts = text.split(separator: " ")
    guard let index = parts.firstIndex(of: "port"), index >= 2, parts[index - 2] == "to" else {
      return nil
    }
    return Self.unbracketed(String(parts[index - 1]))
  }

  /// Removes the brackets around an IPv6 address. URLs contain them, but libcurl's texts do not.
  private static func unbracketed(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  /// The reason that corresponds to OpenSSL's number (x509_vfy.h). libcurl itself checks the name
  /// and reports a mismatch only in its text.
  private var verificationReason: LinkFailure.TLSReason {
    if text.contains("target host name") { return .wrongHost }
    return switch verification {
    case 9: .notYetValid
    case 10: .expired
    case 18: .selfSigned
    case 19, 20, 21: .unknownAuthority
    case 23: .revoked
    case 62, 64: .wrongHost
    case _: .other
    }
  }

  private var handshakeFailure: LinkFailure {
    if let failure = streamFailure { return failure }
    // These are OpenSSL's texts for bytes that do not look like a TLS record
    // (SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG).
    let isPlain = ["wrong version number", "http request", "packet length too long"]
      .contains { text.contains($0) }
    if isPlain { return .tls(.notSpoken, detail: text) }
    let isVersion = ["unsupported protocol", "protocol version", "no protocols available"]
      .contains { text.contains($0) }
    return .tls(isVersion ? .version : .handshake, detail: text)
  }

  /// The failure of the underlying stream, if the stream was lost and TLS was not the cause.
  ///
  /// The text takes precedence, because the error number may stem from an address that lost the
  /// race to connect.
  private var streamFailure: LinkFailure? {
    let causes: [(pattern: String, failure: LinkFailure)] = [
      ("reset by peer", .reset), ("Broken pipe", .reset), ("unexpected eof", .ended),
      ("SSL_ERROR_SYSCALL", .ended), ("SSL_ERROR_ZERO_RETURN", .ended), ("Empty reply", .ended),
      ("timed out", .timeout(.silence)), ("unreachable", .unreachable(detail: text)),
      ("No route to host", .unreachable(detail: text)),
    ]
    if let cause = causes.first(where: { text.contains($0.pattern) }) { return cause.failure }
    return [ECONNRESET, EPIPE, ECONNABORTED].contains(systemError) ? .reset : nil
  }
}
