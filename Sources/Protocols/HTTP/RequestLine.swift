/// Makes a request head of its lines and checks what RFC 9112 section 3 asks of it.
enum RequestLine {
  static func head(
    _ lines: [ArraySlice<UInt8>], limits: HTTPLimits
  ) throws(HTTPError) -> HTTPRequestHead {
    guard let first = lines.first else { throw .bad("a request without a request line") }
    let parts = first.split(separator: Text.space, omittingEmptySubsequences: false)
    guard parts.count == 3, Text.isToken(parts[0]) else { throw .bad("a malformed request line") }
    let minorVersion = try minorVersion(parts[2])
    guard parts[1].count <= limits.maxTargetBytes else {
      throw HTTPError(status: 414, detail: "a target beyond the limit")
    }
    var fields: [HTTPField] = []
    fields.reserveCapacity(lines.count - 1)
    for line in lines.dropFirst() { fields.append(try FieldLines.parse(line)) }
    try checkHost(fields, minorVersion: minorVersion)
    let head = try HTTPRequestHead(
      method: String(decoding: parts[0], as: UTF8.self),
      target: parts[1], minorVersion: minorVersion, fields: fields)
    try checkExpectation(head)
    return head
  }

  /// `HTTP/1.0` or `HTTP/1.1`; another version is named as such, the preface of HTTP/2 too.
  private static func minorVersion(_ version: ArraySlice<UInt8>) throws(HTTPError) -> Int {
    let start = version.startIndex
    guard version.count == 8, version.starts(with: "HTTP/".utf8), version[start + 6] == 0x2E,
      Text.isDigit(version[start + 5]), Text.isDigit(version[start + 7])
    else { throw .bad("a malformed version") }
    let minor = Int(version[start + 7] - 0x30)
    guard version[start + 5] == 0x31, minor <= 1 else {
      throw HTTPError(status: 505, detail: "only HTTP/1.0 and HTTP/1.1 are spoken here")
    }
    return minor
  }

  /// Exactly one Host in HTTP/1.1, at most one in HTTP/1.0 (RFC 9112 section 3.2).
  private static func checkHost(_ fields: [HTTPField], minorVersion: Int) throws(HTTPError) {
    let hosts = fields.values("host")
    guard hosts.count <= 1 else { throw .bad("more than one Host") }
    guard let host = hosts.first else {
      guard minorVersion == 0 else { throw .bad("no Host") }
      return
    }
    guard HostField.isValid(host) else { throw .bad("a malformed Host") }
  }

  private static func checkExpectation(_ head: HTTPRequestHead) throws(HTTPError) {
    // HTTP/1.0 has no expectations (RFC 9110 section 10.1.1).
    guard head.minorVersion >= 1, let expected = head.first("expect") else { return }
    guard expected.lowercased() == "100-continue" else {
      throw HTTPError(status: 417, detail: "an expectation that is not known")
    }
  }
}
