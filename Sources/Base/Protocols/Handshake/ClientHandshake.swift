/// The client side of the opening handshake (RFC 6455 section 4.1).
public struct ClientHandshake: Sendable {
  /// The request to send.
  public let requestBytes: [UInt8]

  private let accept: String
  private let offersDeflate: Bool
  private let subprotocols: [String]
  private var reader = ResponseHeadReader()
  private var decided = false

  /// The result of a handshake.
  public enum Outcome: Equatable, Sendable {
    /// The connection is now a WebSocket. `rest` contains the bytes after the response, which are
    /// the first frames.
    case upgraded(headers: [String: String], extensions: DeflateParameters?, rest: [UInt8])
    /// The server responded with another status. `bodyPrefix` is the received part of the body.
    case refused(HTTPResponseHead, bodyPrefix: [UInt8])
    /// The response was not valid HTTP, or not a valid upgrade.
    case malformed(String)
  }

  /// Creates a request. `key` must be 16 random bytes that are new for every connection.
  ///
  /// `host` includes the port unless it is the scheme's default. Fields that the handshake sets
  /// itself are removed from `headers`, as is every byte that could end a line.
  public init(
    host: String, target: String, headers: [(String, String)], key: [UInt8], offersDeflate: Bool,
    subprotocols: [String] = []
  ) {
    let keyText = Base64.encode(key)
    self.accept = AcceptKey.answer(to: keyText)
    self.offersDeflate = offersDeflate
    self.subprotocols = subprotocols.filter { Text.isToken($0.utf8) }
    var fields = [
      ("Host", host), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
      ("Sec-WebSocket-Key", keyText), ("Sec-WebSocket-Version", "13"),
    ]
    if offersDeflate { fields.append(("Sec-WebSocket-Extensions", DeflateParameters.offer)) }
    if !self.subprotocols.isEmpty {
      fields.append(("Sec-WebSocket-Protocol", self.subprotocols.joined(separator: ", ")))
    }
    fields += headers.filter { !Self.own.contains($0.0.lowercased()) }
    var request = Array("GET ".utf8)
    request += Self.origin(target)
    request += Array(" HTTP/1.1\r\n".utf8)
    FieldLines.append(fields, to: &request)
    request += [Text.cr, Text.lf]
    requestBytes = request
  }

  /// Parses a line `NAME: VALUE` as a field to send with a request.
  ///
  /// - Returns: The field; `nil` if it is malformed or is one that the handshake sets itself.
  public static func field(_ line: String) -> HTTPField? {
    guard let field = try? FieldLines.parse(Array(line.utf8)[...]), !own.contains(field.name) else {
      return nil
    }
    return field
  }

  private static let own = [
    "host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version",
    "sec-websocket-extensions", "sec-websocket-protocol", "content-length", "transfer-encoding",
  ]

  /// Returns the target in origin form, with every invalid byte percent-encoded.
  private static func origin(_ target: String) -> [UInt8] {
    let hex = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = target.hasPrefix("/") ? [] : [0x2F]
    for byte in target.utf8 {
      if Text.isVisible(byte), byte != 0x23 {
        bytes.append(byte)
      } else {
        bytes += [0x25, hex[Int(byte >> 4)], hex[Int(byte & 0xF)]]
      }
    }
    return bytes
  }

  /// Feeds response bytes. Returns the result once it is known. No more bytes are read afterwards.
  public mutating func receive(_ bytes: [UInt8]) -> Outcome? {
    guard !decided else { return nil }
    reader.receive(bytes)
    do throws(HTTPError) {
      // Interim responses precede the final response (RFC 9110 section 15.2).
      while let head = try reader.next() {
        guard head.status >= 200 || head.status == 101 else { continue }
        decided = true
        return outcome(head, rest: reader.takeRest())
      }
      return nil
    } catch {
      decided = true
      return .malformed(error.detail)
    }
  }

  private func outcome(_ head: HTTPResponseHead, rest: [UInt8]) -> Outcome {
    guard head.status == 101 else { return .refused(head, bodyPrefix: rest) }
    guard head.minorVersion == 1 else { return .malformed("an upgrade in HTTP/1.0") }
    guard head.headers.tokens("upgrade") == ["websocket"] else {
      return .malformed("an upgrade to a protocol other than WebSocket")
    }
    guard head.headers.tokens("connection").contains("upgrade") else {
      return .malformed("Connection does not name Upgrade")
    }
    guard head.headers.values("sec-websocket-accept") == [accept] else {
      return .malformed("Sec-WebSocket-Accept does not match the key")
    }
    let chosen = head.headers.values("sec-websocket-protocol")
    guard chosen.isEmpty || chosen.count == 1 && subprotocols.contains(chosen[0]) else {
      return .malformed("a subprotocol that was not offered")
    }
    let extensions = head.headers.values("sec-websocket-extensions").joined(separator: ", ")
    guard !extensions.isEmpty else {
      return .upgraded(headers: head.fields, extensions: nil, rest: rest)
    }
    guard offersDeflate, let agreed = DeflateParameters.parse(response: extensions) else {
      return .malformed("an extension that was not offered")
    }
    return .upgraded(headers: head.fields, extensions: agreed, rest: rest)
  }
}
