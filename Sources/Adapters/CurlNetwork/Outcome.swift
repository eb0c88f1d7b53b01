import CCurl
import LinkCore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How a transfer, or a call on a connected stream, ended without success.
struct Outcome: Equatable {
  var code: CURLcode
  /// The `errno` of the last system call that failed, or 0.
  var systemError: Int32 = 0
  /// What OpenSSL thought of the certificate: an `X509_V_ERR_…` number, or 0.
  var verification: Int = 0
  /// The proxy's status for the tunnel, or 0.
  var tunnelStatus: Int = 0
  var text: String
  /// What was being waited for.
  var phase: LinkFailure.Phase
  var host: String

  /// The one classification, for dials, streams and REST.
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
    // So libcurl tells a line of a head over its bound of 100 kB; since 8.6 with a code of its own.
    case CURLE_OUT_OF_MEMORY where phase == .response, CURLcode(rawValue: 100):
      return .protocolError(detail: "A field of the answer's head is too long.")
    // `Transfers` says so.
    case CURLE_ABORTED_BY_CALLBACK: return Self.unwatched
    case _: return .local(detail: text)
    }
  }

  static let unwatched = LinkFailure.local(detail: "The system watches no more descriptors.")

  private var connectFailure: LinkFailure {
    if let peer = wayPoint, peer != Self.unbracketed(host) { return .proxy(detail: text) }
    switch systemError {
    case ECONNREFUSED: return .refused
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL: return .unreachable(detail: text)
    case ETIMEDOUT: return .timeout(.connect)
    case ECONNRESET, ECONNABORTED: return .reset
    case EMFILE, ENFILE, ENOBUFS, ENOMEM, EACCES, EPERM: return .local(detail: text)
    case _: return .unreachable(detail: text)
    }
  }

  /// The host in libcurl's text on a failed connect: the proxy, if there is one.
  private var wayPoint: String? {
    let words = text.split(separator: " ")
    guard let place = words.firstIndex(of: "port"), place >= 2, words[place - 2] == "to" else {
      return nil
    }
    return Self.unbracketed(String(words[place - 1]))
  }

  /// URLs write IPv6 addresses in brackets; libcurl's texts do not.
  private static func unbracketed(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  /// OpenSSL's numbers (x509_vfy.h); a wrong name is found by libcurl itself, in words only.
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
    // OpenSSL's words for what does not begin like a record of TLS (SSL_R_WRONG_VERSION_NUMBER,
    // SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG).
    let isPlain = ["wrong version number", "http request", "packet length too long"]
      .contains { text.contains($0) }
    if isPlain { return .tls(.notSpoken, detail: text) }
    let isVersion = ["unsupported protocol", "protocol version", "no protocols available"]
      .contains { text.contains($0) }
    return .tls(isVersion ? .version : .handshake, detail: text)
  }

  /// A loss of the stream underneath, which says nothing about TLS.
  ///
  /// The words go first: the error number may be left over from an address that lost the race.
  private var streamFailure: LinkFailure? {
    let causes: [(words: String, failure: LinkFailure)] = [
      ("reset by peer", .reset), ("Broken pipe", .reset), ("unexpected eof", .ended),
      ("SSL_ERROR_SYSCALL", .ended), ("SSL_ERROR_ZERO_RETURN", .ended), ("Empty reply", .ended),
      ("timed out", .timeout(.silence)), ("unreachable", .unreachable(detail: text)),
      ("No route to host", .unreachable(detail: text)),
    ]
    if let cause = causes.first(where: { text.contains($0.words) }) { return cause.failure }
    return [ECONNRESET, EPIPE, ECONNABORTED].contains(systemError) ? .reset : nil
  }
}

/// What must never show in a failure.
struct Secrets {
  private var texts: [String] = []

  /// The values a request carries, as given and as they go over the wire.
  init(headers: [(name: String, value: String)], query: [(name: String, value: String)]) {
    for (_, value) in headers + query {
      // `Bearer abc`: the scheme alone is no secret.
      texts +=
        [value, Address.encoded(value)] + value.split(separator: " ").dropFirst().map(String.init)
    }
    // Shorter ones would hide ordinary words, and no token is that short.
    texts.removeAll { $0.utf8.count < 6 }
  }

  /// `text`, or `substitute` when it holds a secret.
  func clean(_ text: String, or substitute: String = "(withheld)") -> String {
    texts.contains { text.contains($0) } ? substitute : text
  }

  func clean(_ failure: LinkFailure) -> LinkFailure {
    failure.mapText { clean($0) }
  }
}

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reads a `Retry-After` field (RFC 9110 section 10.2.3): seconds or an HTTP-date.
enum RetryAfter {
  /// Nil when absent or senseless; never negative.
  ///
  /// A date counts from the answer's own `Date`, so that a wrong clock here does no harm; without
  /// one it counts from `now`, in seconds since 1970.
  static func duration(_ value: String?, date: String?, now: Int) -> Duration? {
    guard let value else { return nil }
    if !value.isEmpty,
      value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    {
      // A number too large for 64 bits means as little as none.
      return Int64(value).map { .seconds($0) }
    }
    guard let then = seconds(value) else { return nil }
    return .seconds(max(0, then - (date.flatMap(seconds) ?? now)))
  }

  private static func seconds(_ date: String) -> Int? {
    let seconds = unsafe curl_getdate(date, nil)
    return seconds == -1 ? nil : seconds
  }

  /// Seconds since 1970 by this device's clock.
  static var now: Int { time(nil) }
}
