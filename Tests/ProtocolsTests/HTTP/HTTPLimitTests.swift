import Testing

@testable import HoldfastProtocols

/// Tests of every limit, below, at and above its value.
@Suite struct HTTPLimitTests {
  static let limits = HTTPLimits(
    maxHeadBytes: 200, maxHeaderCount: 5, maxTargetBytes: 20, maxBodyBytes: 10)

  @Test(arguments: [(199, nil), (200, nil), (201, 431)])
  func `a head above the byte limit is refused with 431`(_ count: Int, _ status: Int?) {
    let filler = String(repeating: "x", count: count - get("X: \r\n").utf8.count)
    #expect(refusal(get("X: \(filler)\r\n"), limits: Self.limits) == status)
  }

  @Test(arguments: [(4, nil), (5, nil), (6, 431)])
  func `a head with too many fields is refused with 431`(_ count: Int, _ status: Int?) {
    let lines = String(repeating: "X: y\r\n", count: count - 1)
    #expect(refusal(get(lines), limits: Self.limits) == status)
  }

  @Test(arguments: [(19, nil), (20, nil), (21, 414)])
  func `a target above the byte limit is refused with 414`(_ count: Int, _ status: Int?) {
    let target = "/" + String(repeating: "x", count: count - 1)
    #expect(refusal(get(target: target), limits: Self.limits) == status)
  }

  @Test func `a request line without an end is refused with 414`() {
    let endless = [UInt8](repeating: 0x61, count: 200)
    #expect(refusal(Array(endless.dropLast()), limits: Self.limits) == nil)
    #expect(refusal(endless, limits: Self.limits) == 414)
  }

  @Test(arguments: [(9, nil), (10, nil), (11, 413)])
  func `a body whose length exceeds the limit is refused with 413`(_ count: Int, _ status: Int?) {
    let body = String(repeating: "x", count: count)
    let text = post("Content-Length: \(count)\r\n", status == nil ? body : "")
    #expect(refusal(text, limits: Self.limits) == status)
  }

  @Test(arguments: [
    "99999999999999999999999999", "9223372036854775807", "9223372036854775808",
    "18446744073709551616",
  ])
  func `a body length near or beyond the range of 64 bits is refused with 413`(_ length: String) {
    #expect(refusal(post("Content-Length: \(length)\r\n"), limits: Self.limits) == 413)
  }

  @Test(arguments: [("9", nil), ("a", nil), ("b", 413), ("ffffffffffffffff", 413)])
  func `a chunk whose size exceeds the body limit is refused with 413`(
    _ size: String, _ status: Int?
  ) {
    let text = post("Transfer-Encoding: chunked\r\n", "\(size)\r\n")
    #expect(refusal(text, limits: Self.limits) == status)
  }

  @Test(arguments: [(4, nil), (5, nil), (6, 413)])
  func `chunks that together exceed the body limit are refused with 413`(
    _ size: Int, _ status: Int?
  ) {
    let text = post("Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n\(size)\r\n")
    #expect(refusal(text, limits: Self.limits) == status)
  }

  @Test(arguments: [(255, nil), (256, nil), (257, 400)])
  func `a chunk size line of more than 256 bytes is refused with 400`(_ count: Int, _ status: Int?)
  {
    let line = "1;" + String(repeating: "x", count: count - 4) + "\r\n"
    let limits = HTTPLimits()
    #expect(refusal(post("Transfer-Encoding: chunked\r\n", line), limits: limits) == status)
  }

  @Test(arguments: [(199, nil), (200, nil), (201, 400)])
  func `chunk extensions that together exceed the head limit are refused with 400`(
    _ count: Int, _ status: Int?
  ) {
    let first = "1;" + String(repeating: "x", count: 99) + "\r\na\r\n"
    let second = "1;" + String(repeating: "x", count: count - 101) + "\r\n"
    let text = post("Transfer-Encoding: chunked\r\n", first + second)
    #expect(refusal(text, limits: Self.limits) == status)
  }

  @Test(arguments: [(199, nil), (200, nil), (201, 431)])
  func `a trailer above the byte limit is refused with 431`(_ count: Int, _ status: Int?) {
    let filler = String(repeating: "x", count: count - 7)
    let text = post("Transfer-Encoding: chunked\r\n", "0\r\nX: \(filler)\r\n\r\n")
    #expect(refusal(text, limits: Self.limits) == status)
  }

  @Test(arguments: [(4, nil), (5, nil), (6, 431)])
  func `a trailer with too many fields is refused with 431`(_ count: Int, _ status: Int?) {
    let lines = String(repeating: "X: y\r\n", count: count)
    let text = post("Transfer-Encoding: chunked\r\n", "0\r\n\(lines)\r\n")
    #expect(refusal(text, limits: Self.limits) == status)
  }

  @Test func `by default a head has at most 16 KiB, 100 fields and 8 KiB of target, a body 64 KiB`()
  {
    let expected = HTTPLimits(
      maxHeadBytes: 16 << 10, maxHeaderCount: 100, maxTargetBytes: 8 << 10, maxBodyBytes: 64 << 10)
    #expect(HTTPLimits() == expected)
  }

  @Test(arguments: [("/p", 3, nil), ("/p", 4, 413), ("/q", 4, nil), ("/q", 11, 413)])
  func `a path may have a limit of its own for bodies`(
    _ path: String, _ count: Int, _ status: Int?
  ) {
    var limits = Self.limits
    limits.bodyBytesByPath = ["/p": 3]
    let text = "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n"
    #expect(refusal(text, limits: limits) == status)
  }
}
