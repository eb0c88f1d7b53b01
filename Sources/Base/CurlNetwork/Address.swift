import CHoldfastCurl
import HoldfastCore
import HoldfastSocketEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The target of a request. libcurl's URL parser parses it, so that both use the same host.
struct Address: Equatable {
  var isSecure: Bool
  /// The host in ASCII. An IPv6 address is in brackets.
  var host: String
  var port: UInt16
  /// The scheme, host and port. They serve as the URL of a dial, which must not contain the path
  /// and query.
  var origin: String
  /// The path and query, as they appear in a request line.
  var target: String

  var url: String { origin + target }

  /// The value of the `Host` field (RFC 9110 section 7.2). It omits the scheme's default port.
  var authority: String {
    port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
  }

  init(
    _ url: String, query: [(name: String, value: String)], schemes: [String: Bool]
  ) throws(LinkFailure) {
    let parts = try URLParts(url)
    guard let scheme = parts[CURLUPART_SCHEME]?.lowercased(), let isSecure = schemes[scheme] else {
      let known = schemes.keys.sorted().joined(separator: " or ")
      throw .local(detail: "The URL's scheme must be \(known).")
    }
    guard parts[CURLUPART_USER] == nil, parts[CURLUPART_PASSWORD] == nil else {
      throw .local(detail: "The URL contains a user or password; put credentials into a header.")
    }
    parts[CURLUPART_SCHEME] = isSecure ? "https" : "http"
    guard let host = parts[CURLUPART_HOST], let port = parts[CURLUPART_PORT].flatMap(UInt16.init)
    else { throw .local(detail: "The URL has no host that can be looked up.") }
    (self.isSecure, self.host, self.port) = (isSecure, host, port)
    let pairs = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
    let all = ([parts[CURLUPART_QUERY]].compactMap { $0 } + pairs).joined(separator: "&")
    target = (parts[CURLUPART_PATH] ?? "/") + (all.isEmpty ? "" : "?\(all)")
    origin = "\(isSecure ? "https" : "http")://\(host):\(port)"
  }

  /// Percent-encodes all characters except the unreserved ones (RFC 3986 section 2.3).
  static func encoded(_ text: String) -> String { text.percentEncoded }

  /// Whether the host is a loopback name or address of this device.
  var isLoopback: Bool { NetworkAddress.isLoopback(host: host) }

  /// Throws an error unless the connection is encrypted, stays on this device, or may use
  /// plaintext.
  func demandPrivacy(_ configuration: CurlConfiguration) throws(LinkFailure) {
    guard isSecure || isLoopback || configuration.allowsPlaintext else {
      throw .local(
        detail: "Plaintext to \(host) is refused; use TLS, or set allowsPlaintext.")
    }
  }
}

/// The parts of a URL, as libcurl's parser separates them.
@safe private final class URLParts {
  private let handle: OpaquePointer

  init(_ url: String) throws(LinkFailure) {
    guard let handle = unsafe curl_url() else { throw .local(detail: "Out of memory.") }
    unsafe self.handle = handle
    let result = unsafe curl_url_set(
      handle, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME))
    guard result == CURLUE_OK else {
      // The text describes the kind of error and contains no part of the URL.
      throw .local(detail: unsafe "Bad URL: \(String(cString: curl_url_strerror(result)))")
    }
  }

  deinit {
    unsafe curl_url_cleanup(handle)
  }

  subscript(part: CURLUPart) -> String? {
    get {
      part == CURLUPART_HOST
        ? Self.inUTF8 { text(of: part, CURLU_PUNYCODE) } : text(of: part, CURLU_DEFAULT_PORT)
    }
    set {
      unsafe _ = curl_url_set(handle, part, newValue, 0)
    }
  }

  private func text(of part: CURLUPart, _ flags: Int32) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK,
      let text = unsafe text
    else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }

  /// Runs `body` in a UTF-8 locale.
  ///
  /// libidn2 decodes names in the character set of the thread. That is ASCII in a program that sets
  /// no locale.
  private static func inUTF8<Value>(_ body: () -> Value) -> Value {
    guard let utf8 = unsafe newlocale(LC_CTYPE_MASK, "C.UTF-8", nil) else { return body() }
    let before = unsafe uselocale(utf8)
    defer {
      _ = unsafe uselocale(before)
      unsafe freelocale(utf8)
    }
    return body()
  }
}
