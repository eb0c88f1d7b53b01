import CHoldfastLinux
import Glibc

/// A blocking TCP client that sends raw bytes, including malformed input.
final class SocketsClient {
  struct Failure: Error {
    var call: String
    var errno: Int32
  }

  /// A response whose length is given by Content-Length.
  struct Response: Equatable {
    var status: Int
    var headers: [String: String]
    var body: String
  }

  /// An unfragmented frame from the server.
  struct Frame: Equatable {
    var opcode: UInt8
    var payload: [UInt8]

    static func text(_ text: String) -> Frame { Frame(opcode: 1, payload: Array(text.utf8)) }
    static func close(_ code: UInt16, _ reason: String = "") -> Frame {
      Frame(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 255)] + Array(reason.utf8))
    }
  }

  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var isOpen = true

  /// Connects to the port. `receiveBuffer` is set before connecting, and so limits the TCP window.
  init(port: UInt16, ipv6: Bool = false, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(
      ipv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(call: "socket", errno: errno) }
    if var size = receiveBuffer {
      unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
    }
    setReadTimeout(.seconds(600))
    let result = ipv6 ? connect6(port) : connect4(port)
    guard result == 0 else { throw Failure(call: "connect", errno: errno) }
  }

  deinit {
    if isOpen { Glibc.close(descriptor) }
  }

  private func connect4(_ port: UInt16) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private func connect6(_ port: UInt16) -> Int32 {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    address.sin6_addr = in6addr_loopback
    return unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
  }

  /// Sets the time after which a read fails.
  func setReadTimeout(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var limit = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  // MARK: Out

  func send(_ text: String) throws {
    try send(Array(text.utf8))
  }

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let rest = bytes[sent...]
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(call: "send", errno: errno) }
      sent += count
    }
  }

  func get(_ target: String, _ headers: String = "") throws -> Response {
    try send("GET \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n")
    return try response()
  }

  /// Requests a WebSocket with the sample key of RFC 6455 section 1.3, and reads the response.
  func upgrade(_ target: String = "/stream", _ headers: String = "") throws -> Response {
    try send(Self.upgradeRequest(target, headers))
    return try response()
  }

  static func upgradeRequest(_ target: String = "/stream", _ headers: String = "") -> String {
    "GET \(target) HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(headers)\r\n"
  }

  /// Returns a client frame that is masked with the bytes 1, 2, 3, 4.
  static func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
    var frame = [0x80 | opcode]
    switch payload.count {
    case ..<126: frame.append(0x80 | UInt8(payload.count))
    case ..<65_536: frame += [0x80 | 126] + bytes(UInt64(payload.count), 2)
    case _: frame += [0x80 | 127] + bytes(UInt64(payload.count), 8)
    }
    frame += [1, 2, 3, 4]
    return frame + payload.enumerated().map { $1 ^ UInt8($0 % 4 + 1) }
  }

  static func text(_ text: String) -> [UInt8] { frame(1, Array(text.utf8)) }

  static func close(_ code: UInt16) -> [UInt8] { frame(8, bytes(UInt64(code), 2)) }

  private static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }

  // MARK: In

  /// Reads available bytes. Returns false at the end of the stream, and throws on an error or a
  /// time-out.
  @discardableResult
  private func fill() throws -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
    guard count >= 0 else { throw Failure(call: "recv", errno: errno) }
    buffer += chunk[..<count]
    return count > 0
  }

  /// Reads the bytes that have arrived, and returns their number.
  func readAvailable() throws -> Int {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    var total = 0
    while true {
      let count = unsafe recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
      if count < 0, errno == EAGAIN { return total }
      guard count > 0 else { throw Failure(call: "recv", errno: errno) }
      total += count
    }
  }

  private func need(_ count: Int) throws {
    while buffer.count < count {
      guard try fill() else { throw Failure(call: "recv", errno: 0) }
    }
  }

  private func take(_ count: Int) throws -> [UInt8] {
    try need(count)
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  func response(toHead: Bool = false) throws -> Response {
    var lines: [String] = []
    while lines.last != "" {
      var line: [UInt8] = []
      while line.suffix(2) != [13, 10] { line += try take(1) }
      lines.append(String(decoding: line.dropLast(2), as: UTF8.self))
    }
    let fields = lines[0].split(separator: " ")
    guard fields.count > 1, let status = Int(fields[1]) else {
      throw Failure(call: "read a status line from \(lines)", errno: 0)
    }
    var headers: [String: String] = [:]
    for line in lines.dropFirst().dropLast() {
      let parts = line.split(separator: ": ", maxSplits: 1)
      guard let name = parts.first else { throw Failure(call: "read \(lines)", errno: 0) }
      headers[name.lowercased()] = parts.count > 1 ? String(parts[1]) : ""
    }
    let length = toHead ? 0 : headers["content-length"].flatMap { Int($0) } ?? 0
    let body = String(decoding: try take(length), as: UTF8.self)
    return Response(status: status, headers: headers, body: body)
  }

  /// Reads the next chunk of a body (RFC 9112 section 7.1). Returns `nil` after the last chunk.
  func chunk() throws -> String? {
    var line: [UInt8] = []
    while line.suffix(2) != [13, 10] { line += try take(1) }
    let count = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) ?? 0
    let bytes = try take(count + 2).dropLast(2)
    return count == 0 ? nil : String(decoding: bytes, as: UTF8.self)
  }

  func frame() throws -> Frame {
    let head = try take(2)
    var count = Int(head[1])
    switch count {
    case 126: count = try take(2).reduce(0) { $0 << 8 | Int($1) }
    case 127: count = try take(8).reduce(0) { $0 << 8 | Int($1) }
    case _: break
    }
    return Frame(opcode: head[0] & 15, payload: try take(count))
  }

  /// Returns whether the stream ends without further bytes. A reset counts as an end.
  func isAtEnd() -> Bool {
    do { return try buffer.isEmpty && !fill() } catch {
      return (error as? Failure)?.errno == ECONNRESET
    }
  }

  /// Reads to the end of the stream, and returns the number of bytes. Throws on a time-out.
  func readToEnd() throws -> Int {
    var count = buffer.count
    buffer = []
    do {
      while try fill() {
        count += buffer.count
        buffer = []
      }
    } catch let failure as Failure where failure.errno == ECONNRESET {}
    return count
  }

  // MARK: Ends

  func shutWriting() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  func close() {
    isOpen = false
    Glibc.close(descriptor)
  }

  /// Closes the connection with a reset.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    unsafe setsockopt(
      descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }
}
