/// The server side of the opening handshake (RFC 6455 section 4.2).
public enum ServerHandshake {
  /// The response to an upgrade request.
  public enum Outcome: Equatable, Sendable {
    /// Send these bytes. The connection is a WebSocket afterwards.
    case upgrade(response: [UInt8], deflate: DeflateParameters?)
    /// Send a plain response. The connection stays HTTP.
    case refuse(status: Int, headers: [HTTPField], reason: String)
  }

  /// Validates a request and returns the response.
  ///
  /// `extraHeaders` are added to the 101 response, for example the chosen subprotocol.
  public static func accept(
    _ head: HTTPRequestHead, allowsDeflate: Bool, extraHeaders: [(String, String)] = []
  ) -> Outcome {
    refusal(of: head)
      ?? upgrade(head, allowsDeflate: allowsDeflate, extraHeaders: extraHeaders)
  }

  /// Returns a refusal with status 400, 405 or 426 if the request is not a valid upgrade to version
  /// 13; `nil` if it is valid.
  public static func refusal(of head: HTTPRequestHead) -> Outcome? {
    guard head.method == "GET" else {
      return .refuse(
        status: 405, headers: [HTTPField(name: "Allow", value: "GET")],
        reason: "a WebSocket is opened with GET")
    }
    guard head.minorVersion >= 1, head.asksForWebSocket else {
      return .refuse(
        status: 426,
        headers: [
          HTTPField(name: "Upgrade", value: "websocket"),
          HTTPField(name: "Connection", value: "Upgrade"),
        ],
        reason: "this address accepts only WebSocket over HTTP/1.1")
    }
    guard head.headers.values("sec-websocket-version") == ["13"] else {
      return .refuse(
        status: 426, headers: [HTTPField(name: "Sec-WebSocket-Version", value: "13")],
        reason: "only version 13 is supported")
    }
    guard head.headers.tokens("connection").contains("upgrade") else {
      return .refuse(status: 400, headers: [], reason: "Connection does not name Upgrade")
    }
    let keys = head.headers.values("sec-websocket-key")
    guard keys.count == 1, AcceptKey.isKey(keys[0]) else {
      return .refuse(status: 400, headers: [], reason: "Sec-WebSocket-Key is not 16 bytes")
    }
    return nil
  }

  private static func upgrade(
    _ head: HTTPRequestHead, allowsDeflate: Bool, extraHeaders: [(String, String)]
  ) -> Outcome {
    guard let key = head.headers.first("sec-websocket-key") else {
      preconditionFailure("a request without a key was refused before")
    }
    var fields = [
      ("Upgrade", "websocket"), ("Connection", "Upgrade"),
      ("Sec-WebSocket-Accept", AcceptKey.answer(to: key)),
    ]
    let offers = head.headers.values("sec-websocket-extensions").joined(separator: ", ")
    let agreed = allowsDeflate ? DeflateParameters.accept(offers: offers) : nil
    if let agreed { fields.append(("Sec-WebSocket-Extensions", agreed.response)) }
    let own = ["upgrade", "connection", "sec-websocket-accept", "sec-websocket-extensions"]
    fields += extraHeaders.filter { !own.contains($0.0.lowercased()) }
    var response = Array("HTTP/1.1 101 Switching Protocols\r\n".utf8)
    FieldLines.append(fields, to: &response)
    response += [Text.cr, Text.lf]
    return .upgrade(response: response, deflate: agreed?.parameters)
  }
}

/// The proof that a server has understood the handshake (RFC 6455 section 4.2.2).
enum AcceptKey {
  static let unique = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

  static func answer(to key: String) -> String {
    Base64.encode(SHA1.digest(Array((key + unique).utf8)))
  }

  /// Returns whether the text is Base64 of 16 bytes (RFC 6455 section 4.1).
  static func isKey(_ key: String) -> Bool {
    Base64.decode(key)?.count == 16
  }
}
