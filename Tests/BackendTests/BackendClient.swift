import Dispatch
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData

/// A client on its own queue, whose blocking reads do not delay the tasks of the store.
actor BackendClient {
  private let executor = ClientExecutor()
  private let socket: SocketsClient

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    socket = try SocketsClient(port: port, receiveBuffer: receiveBuffer)
  }

  /// Sends a request on this connection, and reads the response.
  func ask(
    _ method: String, _ target: String, token: String? = nil, fields: [String] = [],
    body: String? = nil
  ) throws -> SocketsClient.Response {
    var lines = ["\(method) \(target) HTTP/1.1", "Host: test"] + fields
    if let token { lines.append("Authorization: Bearer \(token)") }
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    try socket.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    return try socket.response(toHead: method == "HEAD")
  }

  /// Sends raw bytes, and reads a response.
  func speak(_ bytes: String) throws -> SocketsClient.Response {
    try socket.send(bytes)
    return try socket.response()
  }

  /// Sends raw bytes without waiting for a response.
  func tell(_ bytes: String) throws {
    try socket.send(bytes)
  }

  /// Posts a message. `text` needs no escaping because the method encodes it as JSON.
  func post(
    _ text: String, to shop: ShopID = BackendRig.shop, token: String, key: UUID128? = nil
  ) throws -> SocketsClient.Response {
    let body = String(decoding: NewMessage(shop: shop, text: text).encode(), as: UTF8.self)
    return try ask(
      "POST", ShopRoute.send.path, token: token,
      fields: key.map { ["Idempotency-Key: \($0)"] } ?? [], body: body)
  }

  /// Requests the stream of a shop. The status of the response is 101 if the server permits it.
  func follow(
    _ shop: ShopID = BackendRig.shop, token: String?, query: String = "", after: String? = nil,
    events: Bool = false
  ) throws -> SocketsClient.Response {
    let field = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    let position = after.map { "\(StreamHeader.after): \($0)\r\n" } ?? ""
    let asked = events ? "\(StreamHeader.events): 1\r\n" : ""
    return try socket.upgrade(ShopRoute.stream(shop).path + query, field + position + asked)
  }

  /// Requests a WebSocket upgrade on a path.
  func upgrade(_ path: String, _ fields: String = "") throws -> SocketsClient.Response {
    try socket.upgrade(path, fields)
  }

  /// Sends a text message.
  func say(_ text: String) throws {
    try socket.send(SocketsClient.text(text))
  }

  /// Reads the next chunk of a streamed response. Returns `nil` after the last chunk.
  func chunk() throws -> String? { try socket.chunk() }

  /// Closes the connection without a close frame.
  func leave() {
    socket.close()
  }

  /// Reads the next frame other than a ping, and answers the pings before it.
  func frame() throws -> SocketsClient.Frame {
    while true {
      let frame = try socket.frame()
      guard frame.opcode == 9 else { return frame }
      try socket.send(SocketsClient.frame(10, frame.payload))
    }
  }

  /// Waits for a ping without answering it. Returns false if the server has closed the connection.
  func isStillPinged() throws -> Bool {
    guard !socket.isAtEnd() else { return false }
    return try socket.frame().opcode == 9
  }

  /// Waits for a ping and answers it.
  func answerPing() throws {
    let ping = try socket.frame()
    try socket.send(SocketsClient.frame(10, ping.payload))
  }

  func answerClose(_ code: UInt16) throws {
    try socket.send(SocketsClient.close(code))
  }

  /// Reads the next frame and decodes it as a message.
  func message(of shop: ShopID = BackendRig.shop) throws -> StreamFrame {
    try StreamCodec.decode(try frame().payload, shop: shop)
  }

  func isAtEnd() -> Bool { socket.isAtEnd() }

  /// Reads frames until a close frame arrives.
  func close() throws -> SocketsClient.Frame {
    while true {
      let next = try frame()
      if next.opcode == 8 { return next }
    }
  }
}

/// An executor that runs an actor's jobs one at a time on a queue whose thread may block.
private final class ClientExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "holdfast.tests.client")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
