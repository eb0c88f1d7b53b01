import Foundation
import Holdfast

/// A message of the price board's protocol.
struct BoardMessage: Codable, Sendable {
  var op: String
  var token, topic, text, id: String?
  var topics: [String]?
  var seq, after: Int?

  init(_ op: String) { self.op = op }

  init?(_ message: SocketMessage) {
    guard let text = message.text,
      let value = try? JSONDecoder().decode(Self.self, from: Data(text.utf8))
    else { return nil }
    self = value
  }

  /// Returns the message with changes, as JSON.
  func sent(_ change: (inout BoardMessage) -> Void = { _ in }) -> SocketMessage {
    var message = self
    change(&message)
    return .text(String(decoding: (try? JSONEncoder().encode(message)) ?? Data(), as: UTF8.self))
  }
}

/// Returns a connection to the price board.
public func board(
  _ url: String, topics: [String], after position: Int?, tokens: TokenSource,
  outbox: SocketConfiguration.Outbox, ports: DevicePorts = DevicePorts()
) async throws -> HeldSocket {
  let policy = try LinkPolicy.socket.setting([
    ("liveness.ping", "3s"), ("liveness.pongTimeout", "2s"),
  ])
  var configuration = SocketConfiguration(url, policy: policy)
  (configuration.tokens, configuration.placement) = (tokens, .greeting)
  (configuration.outbox, configuration.ports) = (outbox, ports)
  configuration.position = position.map(String.init)
  configuration.messages.hello = { greeting in
    BoardMessage("hello").sent { $0.token = greeting.token }
  }
  configuration.messages.resume = { position in
    BoardMessage("subscribe").sent {
      ($0.topics, $0.after) = (topics, position.flatMap(Int.init) ?? 0)
    }
  }
  configuration.messages.ping = BoardMessage("ping").sent()
  configuration.messages.awaitsConfirmation = true
  configuration.messages.read = { message in
    let message = BoardMessage(message)
    return SocketReading(
      position: message?.seq.map(String.init), confirms: message?.op == "welcome",
      answersPing: message?.op == "pong", refusal: message?.op == "denied" ? .token : nil)
  }
  return try await HeldSocket(configuration)
}

/// A line that the board shows.
public enum BoardLine: Sendable, Equatable {
  case price(topic: String, text: String, seq: Int)
  case taken(id: String)
  case status(String)
}

extension HeldSocket {
  /// Sends an order, which the server recognizes by its id if it arrives twice.
  public func order(_ text: String, id: String = UUID().uuidString) async throws {
    try await send(BoardMessage("order").sent { ($0.id, $0.text) = (id, text) })
  }

  /// Shows what happens until `show` returns false. Each line is shown once.
  public func follow(after position: Int?, _ show: (BoardLine) async -> Bool) async throws {
    var last = position ?? 0
    for await event in self {
      if let line = BoardLine(event), !line.isKnown(after: &last), await !show(line) { return }
    }
    if let failure { throw failure }
  }
}

extension BoardLine {
  init?(_ event: HeldSocket.Event) {
    switch event {
    case .text(let text):
      guard let message = BoardMessage(SocketMessage.text(text)) else { return nil }
      if message.op == "line", let seq = message.seq {
        self = .price(topic: message.topic ?? "", text: message.text ?? "", seq: seq)
      } else if message.op == "taken" {
        self = .taken(id: message.id ?? "")
      } else {
        return nil
      }
    case .status(let status): self = .status("\(status)")
    case .notice(let notice): self = .status("\(notice)")
    case .binary, .quality, .sent, .stored, .proven: return nil
    }
  }

  /// Returns whether the line is a price that was shown before.
  func isKnown(after last: inout Int) -> Bool {
    guard case .price(_, _, let seq) = self else { return false }
    defer { last = max(last, seq) }
    return seq <= last
  }
}
