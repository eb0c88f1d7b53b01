import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit

/// A session client on a raw WebSocket. Its calls block.
struct SessionClient {
  static let conversation = "11111111-1111-4111-8111-111111111111"

  let socket: SocketsClient
  /// The server's `hello`.
  private(set) var hello = SessionHello(message: "")

  /// The error for an unexpected message from the server.
  struct Unexpected: Error {
    var message: SessionServerMessage
  }

  /// Opens a socket with header fields, and reads `hello`.
  init(port: UInt16, _ fields: String = "") throws {
    socket = try SocketsClient(port: port)
    let answer = try socket.upgrade("/session", fields)
    guard answer.status == 101 else { throw BackendRig.NotUpgraded(status: answer.status) }
    let first = try message()
    guard case .hello(let hello) = first else { throw Unexpected(message: first) }
    self.hello = hello
  }

  /// Opens a socket, and connects with the key.
  init(
    port: UInt16, key: String, as client: String = "ann", features: Set<SessionFeature> = []
  ) throws {
    try self.init(port: port)
    try say(
      .connect(SessionConnect(session: client, key: Secret(key), features: features)))
    let connected = try message()
    guard case .connected = connected else { throw Unexpected(message: connected) }
  }

  func say(_ message: SessionClientMessage) throws {
    try socket.send(SocketsClient.frame(1, message.bytes))
  }

  func prompt(
    _ text: String, key: String?, in conversation: String = conversation, isNew: Bool = true
  ) throws {
    try say(
      .prompt(
        SessionPrompt(
          text: text, conversation: conversation, isNew: isNew, idempotencyKey: key)))
  }

  /// Reads the next frame other than a ping.
  func frame() throws -> SocketsClient.Frame {
    while true {
      let frame = try socket.frame()
      if frame.opcode != 9 { return frame }
    }
  }

  /// Reads the next message other than a heartbeat. On a busy machine, some heartbeats arrive.
  func message() throws -> SessionServerMessage {
    while true {
      let message = try SessionServerMessage.read(try frame().payload)
      guard case .heartbeat = message else { return message }
    }
  }

  /// Reads messages until `pick` returns a value, and returns that value.
  func next<Found>(_ pick: (SessionServerMessage) -> Found?) throws -> Found {
    while true {
      if let found = pick(try message()) { return found }
    }
  }

  func response() throws -> SessionResponse {
    try next { if case .response(let response) = $0 { response } else { nil } }
  }

  /// Sends a ping, and returns all messages that arrive before the pong.
  func rest() throws -> [SessionServerMessage] {
    try say(.ping)
    var messages: [SessionServerMessage] = []
    while true {
      let message = try message()
      if message == .pong { return messages }
      messages.append(message)
    }
  }

  /// Reads the next frame. Returns its close code, or `nil` if it is not a close frame.
  func closeCode() throws -> Int? {
    let frame = try frame()
    guard frame.opcode == 8, frame.payload.count >= 2 else { return nil }
    return Int(frame.payload[0]) << 8 | Int(frame.payload[1])
  }

  /// Closes the connection without a close frame.
  func leave() { socket.close() }
}

extension BackendRig {
  static let sessionKey = "holdfast-0123456789abcdef0123456789abcdef"

  /// Writes a session key to a file that only its owner can read, and returns the path.
  static func writeKey(_ text: String = sessionKey, in scratch: Scratch) throws -> String {
    try scratch.write(text.utf8, to: "key")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: scratch("key"))
    return scratch("key")
  }

  /// Runs `body` against a backend whose session key is `sessionKey`.
  static func session(
    _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (BackendRig) async throws -> Void
  ) async throws {
    let scratch = try Scratch()
    let key = try writeKey(in: scratch)
    try await run(
      in: scratch("data"),
      {
        $0.sessionKeyFile = key
        configure(&$0)
      }, body)
  }

  /// Returns a connected session client.
  func session(
    as client: String = "ann", features: Set<SessionFeature> = []
  ) throws -> SessionClient {
    try SessionClient(port: address.port, key: Self.sessionKey, as: client, features: features)
  }
}

/// A named pipe that makes a program wait for a test.
struct NamedPipe {
  let path: String

  struct Failure: Error {
    var errno: Int32
  }

  init(_ path: String) throws {
    self.path = path
    guard unsafe mkfifo(path, 0o600) == 0 else { throw Failure(errno: errno) }
  }

  /// Waits until a program opens the pipe. The program continues once the returned end is closed.
  func opened() throws -> FileHandle {
    try FileHandle(forWritingTo: URL(filePath: path))
  }

  /// Opens the pipe for reading before a program writes to it.
  func reader() throws -> Int32 {
    let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(errno: errno) }
    return descriptor
  }

  /// Waits until no program has the pipe open for writing. Returns false after 60 s.
  static func isLeft(_ descriptor: Int32) -> Bool {
    var watched = pollfd(fd: descriptor, events: 0, revents: 0)
    return unsafe poll(&watched, 1, 600_000) == 1 && watched.revents & Int16(POLLHUP) != 0
  }
}
