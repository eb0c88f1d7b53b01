/// A parser of request heads, which checks the requirements of RFC 9112 section 3.
enum QuestionQueue {
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

  /// Parses `HTTP/1.0` or `HTTP/1.1`. Any other version, including the HTTP/2 preface, gets status
  /// 505.
  private static func minorVersion(_ version: ArraySlice<UInt8>) throws(HTTPError) -> Int {
    let start = version.startIndex
    guard version.count == 8, version.starts(with: "HTTP/".utf8), version[start + 6] == 0x2E,
      Text.isDigit(version[start + 5]), Text.isDigit(version[start + 7])
    else { throw .bad("a malformed version") }
    let minor = Int(version[start + 7] - 0x30)
    guard version[start + 5] == 0x31, minor <= 1 else {
      throw HTTPError(status: 505, detail: "only HTTP/1.0 and HTTP/1.1 are supported")
    }
    return minor
  }

  /// Requires exactly one Host in HTTP/1.1 and at most one in HTTP/1.0 (RFC 9112 section 3.2).
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
      throw HTTPError(status: 417, detail: "an unknown expectation")
    }
  }
}
