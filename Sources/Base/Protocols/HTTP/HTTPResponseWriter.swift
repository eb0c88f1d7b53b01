/// Encoding of responses (RFC 9112 section 4).
public enum HTTPResponseWriter {
  /// Returns a complete response, with Content-Length and Connection added.
  ///
  /// No field can break out of its line: names that are not tokens are omitted, and control bytes
  /// are removed from values. The fields that frame the message are always set here. If `omitsBody`
  /// is true, as for a response to HEAD, the length is sent without the body.
  public static func bytes(
    status: Int, headers: [(String, String)], body: [UInt8], keepAlive: Bool,
    omitsBody: Bool = false
  ) -> [UInt8] {
    var out = head(status: status, headers: headers, length: body.count, keepAlive: keepAlive)
    if !isBodyless(status), !omitsBody { out.append(contentsOf: body) }
    return out
  }

  /// Returns the head of a response whose body has a known length.
  public static func head(
    status: Int, headers: [(String, String)], length: Int, keepAlive: Bool
  ) -> [UInt8] {
    head(
      status: status, headers: headers,
      framing: isBodyless(status) ? [] : [("Content-Length", String(length))],
      keepAlive: keepAlive)
  }

  /// Returns whether responses with a status have no body by definition (RFC 9110 section 6.4.1).
  private static func isBodyless(_ status: Int) -> Bool {
    status < 200 || status == 204 || status == 304
  }

  /// Returns the head of a response whose body follows in pieces of unknown total length.
  ///
  /// If `isChunked` is true, the pieces are encoded by `chunk`, and `lastChunk` ends the body (RFC
  /// 9112 section 7.1). Otherwise, as for HTTP/1.0, the end of the connection ends the body.
  public static func streamHead(
    status: Int, headers: [(String, String)], isChunked: Bool, keepAlive: Bool
  ) -> [UInt8] {
    head(
      status: status, headers: headers,
      framing: isChunked ? [("Transfer-Encoding", "chunked")] : [], keepAlive: keepAlive)
  }

  /// Returns a piece of a chunked body. The result is empty for no bytes, since an empty chunk
  /// would end the body.
  public static func chunk(_ bytes: [UInt8]) -> [UInt8] {
    guard !bytes.isEmpty else { return [] }
    var out: [UInt8] = []
    out.reserveCapacity(bytes.count + 12)
    out.append(contentsOf: String(bytes.count, radix: 16).utf8)
    out += [Text.cr, Text.lf]
    out.append(contentsOf: bytes)
    out += [Text.cr, Text.lf]
    return out
  }

  /// The end of a chunked body without trailer fields.
  public static let lastChunk = Array("0\r\n\r\n".utf8)

  private static func head(
    status: Int, headers: [(String, String)], framing ours: [(String, String)], keepAlive: Bool
  ) -> [UInt8] {
    let code = min(999, max(100, status))
    var out = Array("HTTP/1.1 \(code) \(reason(code))\r\n".utf8)
    var fields = headers.filter { !framing.contains($0.0.lowercased()) } + ours
    let upgrades = headers.contains { $0.0.lowercased() == "upgrade" }
    let connection = keepAlive ? "keep-alive" : "close"
    fields.append(("Connection", upgrades ? "\(connection), Upgrade" : connection))
    FieldLines.append(fields, to: &out)
    out += [Text.cr, Text.lf]
    return out
  }

  /// The interim response that lets a waiting client send its body (RFC 9110 section 15.2.1).
  public static let continueBytes = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// Returns an interim response, which precedes the final response (RFC 9110 section 15.2).
  public static func interim(status: Int, headers: [(String, String)]) -> [UInt8] {
    let code = min(199, max(102, status))
    var out = Array("HTTP/1.1 \(code) \(reason(code))\r\n".utf8)
    FieldLines.append(headers.filter { !framing.contains($0.0.lowercased()) }, to: &out)
    out += [Text.cr, Text.lf]
    return out
  }

  private static let framing = ["content-length", "transfer-encoding", "connection"]

  /// Returns the reason phrase of RFC 9110 section 15; empty for a status not listed here.
  static func reason(_ status: Int) -> String {
    switch status {
    case 100...299: successReason(status)
    case 300...399: redirectReason(status)
    case 400...499: clientReason(status)
    case _: serverReason(status)
    }
  }

  private static func successReason(_ status: Int) -> String {
    switch status {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 104: "Upload Resumption Supported"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case _: ""
    }
  }

  private static func redirectReason(_ status: Int) -> String {
    switch status {
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case _: ""
    }
  }

  private static func clientReason(_ status: Int) -> String {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 426: "Upgrade Required"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case _: ""
    }
  }

  private static func serverReason(_ status: Int) -> String {
    switch status {
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    case _: ""
    }
  }
}
