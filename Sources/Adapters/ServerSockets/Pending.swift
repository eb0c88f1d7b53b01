public struct HTTPRequestHead: Equatable, Sendable {
  public var method = ""
  public var target = ""
  public var keepAlive: Bool { true }
  public func first(_ name: String) -> String? { nil }
}

public struct HTTPLimits: Sendable {
  public var maxBodyBytes = 65_536
  public init() {}
}

public struct WebSocketLimits: Sendable, Equatable {
  public enum Oversize: Sendable { case skip, close }
  public var maxMessageBytes = 1 << 20
  public var maxFragments = 1024
  public var oversize = Oversize.skip
  public init() {}
}

struct HTTPError: Error, Equatable { var status: Int; var detail: String }
struct HTTPRequestReader {
  enum Event { case request(HTTPRequestHead, body: [UInt8]), needsContinue, failed(HTTPError) }
  enum Stage { case between, head, body }
  var stage: Stage { .between }
  init(limits: HTTPLimits) {}
  mutating func receive(_ bytes: [UInt8]) {}
  mutating func next() -> Event? { nil }
  mutating func takeRest() -> [UInt8] { [] }
}
enum HTTPResponseWriter {
  static func bytes(
    status: Int, headers: [(String, String)], body: [UInt8], keepAlive: Bool, omitsBody: Bool = false
  ) -> [UInt8] { [] }
}
struct DeflateParameters {}
enum ServerHandshake {
  enum Result {
    case upgrade([UInt8], DeflateParameters?)
    case refuse(status: Int, headers: [(String, String)], reason: String)
  }
  static func accept(
    _ head: HTTPRequestHead, allowsDeflate: Bool, extraHeaders: [(String, String)]
  ) -> Result { .upgrade([], nil) }
}
struct WebSocketError: Error, Equatable { var code: UInt16; var detail: String }
enum WebSocketEvent: Equatable {
  case text([UInt8]), binary([UInt8]), ping([UInt8]), pong([UInt8]), oversized(bytes: UInt64)
  case closed(code: UInt16, reason: String), failed(WebSocketError), ended
}
enum WebSocketRole { case server }
struct WebSocketConnection: ~Copyable {
  init(
    role: WebSocketRole, limits: WebSocketLimits, extensions: DeflateParameters?, maskSeed: UInt64
  ) {}
  mutating func receive(_ bytes: [UInt8], into events: inout [WebSocketEvent]) {}
  mutating func receiveEnd(into events: inout [WebSocketEvent]) {}
  mutating func send(text: [UInt8], into out: inout [UInt8]) {}
  mutating func ping(_ payload: [UInt8], into out: inout [UInt8]) {}
  mutating func close(code: UInt16, reason: String, into out: inout [UInt8]) {}
  mutating func takeOutput() -> [UInt8] { [] }
}
