import CHoldfastCurl
import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastSocketEngine

/// A request and the part of its response that was received so far.
final class Exchange {
  typealias Continuation = CheckedContinuation<Result<HTTPAnswer, LinkFailure>, Never>

  let easy: Easy
  let continuation: Continuation
  private let address: Address
  private let secrets: Secrets
  private let maxBodyBytes: Int
  private var headers: [String: String] = [:]
  private var headBytes = 0
  private var body: [UInt8] = []
  private let requiresHTTP2: Bool
  /// The reason why the response was rejected; `nil` if it was not.
  private var breach: String?

  /// The maximum size of a response's head in bytes. It equals libcurl's limit for a single field.
  private static let maxHeadBytes = 102_400

  init(
    _ request: HTTPCall, _ configuration: CurlConfiguration, share: Share,
    _ continuation: Continuation
  ) throws(LinkFailure) {
    address = try Address(
      request.url, query: request.query, schemes: ["http": false, "https": true])
    try address.demandPrivacy(configuration)
    guard let easy = Easy() else { throw .local(detail: "libcurl could not be set up.") }
    self.easy = easy
    self.continuation = continuation
    secrets = Secrets(headers: request.headers, query: request.query)
    maxBodyBytes = request.maxBodyBytes
    requiresHTTP2 = request.requiresHTTP2
    easy.prepare(address, configuration, share: share, timeout: request.timeout)
    try easy.prepare(request, url: address.url)
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe easy.set(sinks: context, header: Self.takeHeader, body: Self.takeBody)
    guard easy.refusal == CURLE_OK else {
      throw .local(detail: "libcurl lacks an option (\(easy.refusal.rawValue)).")
    }
  }

  func answer(_ result: CURLcode) -> Result<HTTPAnswer, LinkFailure> {
    if let breach { return .failure(.protocolError(detail: breach)) }
    guard result == CURLE_OK else {
      let outcome = easy.outcome(result, phase: easy.exchangePhase, host: address.host)
      return .failure(secrets.clean(outcome.failure))
    }
    let status = easy.long(CURLINFO_RESPONSE_CODE)
    let retryAfter = RetryAfter.duration(
      headers["retry-after"], date: headers["date"], now: RetryAfter.now)
    return .success(
      HTTPAnswer(status: status, headers: headers, body: body, retryAfter: retryAfter))
  }

  private func take(header line: UnsafeRawBufferPointer) -> Bool {
    headBytes += line.count
    guard headBytes <= Self.maxHeadBytes else {
      breach = "The answer's head is over \(Self.maxHeadBytes) bytes."
      return false
    }
    let text = unsafe String(decoding: line, as: UTF8.self)
    if text.hasPrefix("HTTP/") {
      guard !requiresHTTP2 || text.hasPrefix("HTTP/2") else {
        breach = "The server does not speak HTTP/2."
        return false
      }
      // The fields received before belong to an interim response (RFC 9110 section 15.2).
      headers = [:]
    } else if let colon = text.firstIndex(of: ":") {
      let name = text[..<colon].lowercased()
      let value = text[text.index(after: colon)...].trimmed
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
    return true
  }

  private func take(body chunk: UnsafeRawBufferPointer) -> Bool {
    guard chunk.count <= maxBodyBytes - body.count else {
      breach = "The answer is over \(maxBodyBytes) bytes."
      return false
    }
    unsafe body.append(contentsOf: chunk)
    return true
  }

  private static let takeHeader: curl_write_callback = { bytes, size, count, context in
    guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    return unsafe exchange.take(header: line) ? size * count : 0
  }

  private static let takeBody: curl_write_callback = { bytes, size, count, context in
    guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
    let chunk = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    return unsafe exchange.take(body: chunk) ? size * count : 0
  }
}

extension Easy {
  /// Sets the method, the fields and the body. Redirects are not followed; the caller handles them.
  fileprivate func prepare(_ request: HTTPCall, url: String) throws(LinkFailure) {
    set(CURLOPT_URL, url)
    set(CURLOPT_TIMEOUT_MS, request.timeout.milliseconds)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    set(CURLOPT_ACCEPT_ENCODING, "")
    if request.requiresHTTP2 {
      keepForHTTP2()
    } else if !request.method.isIdempotent {
      // If a reused connection has ended, libcurl resends the request by itself, although the
      // server may have processed it. It never does so on a new connection.
      set(CURLOPT_FRESH_CONNECT, 1)
      set(CURLOPT_FORBID_REUSE, 1)
    }
    guard request.method.isToken else { throw .local(detail: "The method is not an HTTP token.") }
    if request.method == "HEAD" {
      set(CURLOPT_NOBODY, 1)
    } else {
      if !request.body.isEmpty || request.method != "GET" { set(body: request.body) }
      set(CURLOPT_CUSTOMREQUEST, request.method)
    }
    set(headers: try Self.fields(of: request))
  }

  /// Makes requests wait for the first request's connection, so that all share it (RFC 9113 section
  /// 9.1).
  private func keepForHTTP2() {
    set(CURLOPT_PIPEWAIT, 1)
    // By default, libcurl closes a connection that was idle for two minutes. Push services ask
    // clients to keep connections open.
    set(CURLOPT_MAXAGE_CONN, 3_600)
  }

  private static func fields(of request: HTTPCall) throws(LinkFailure) -> [String] {
    // Removes fields that libcurl would otherwise add: a wait before the body, and a guessed
    // content type.
    var lines = ["Expect:"]
    if !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
      lines.append("Content-Type:")
    }
    for (name, value) in request.headers {
      guard name.isToken, value.isFieldValue else {
        throw .local(detail: "A header's name or value contains a character that HTTP forbids.")
      }
      // This is libcurl's syntax for a field without a value.
      lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
    }
    return lines
  }
}

extension StringProtocol {
  /// Whether a request with this method may be retried automatically (RFC 9110 section 9.2.2).
  fileprivate var isIdempotent: Bool {
    ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains { $0 == self }
  }

  /// The text without leading and trailing spaces, tabs and line ends.
  fileprivate var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
    return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}
