import LinkCore
import LinkJSON
import LinkWire

/// An app on the phone or a thing near it, with the command that runs it.
enum App: String, Sendable {
  /// Follows the shop's messages.
  case messages = "stream"
  /// Answers assistants from the health data.
  case relay
  /// Talks to a program over a session.
  case session
  /// Holds a WebSocket, within the process of the demo.
  case feed = "socket"
  /// Fetches the drinks of a bottle.
  case bottle
  /// The bottle itself.
  case peripheral = "bottle virtual"

  /// The party that the narrator names for it.
  var who: StoryEvent.Who {
    switch self {
    case .feed: .app
    case .peripheral: .bottle
    case .messages, .relay, .session, .bottle: .phone
    }
  }
}

/// One line that an app printed, as far as the story needs it.
enum AppLine: Sendable, Hashable {
  case status(Status)
  case message(Judge.Shown)
  case pair(Pair)
  /// A prompt of the user came into a state.
  case prompt(Prompt)
  /// A drink with its id, as the phone shows it.
  case drink(Int)
  /// A drink with its id, as the bottle records it.
  case record(Int)
  /// Anything else, such as a notice or a gap.
  case other

  /// What an app says of its link.
  struct Status: Sendable, Hashable {
    var status = ""
    var mode = ""
    var reason = ""

    var isConnected: Bool { ["CONNECTED", "running", "connected"].contains(status) }
    var isPolling: Bool { mode == "polling" }
  }

  /// A prompt, by its text, and its state in the app's word.
  struct Prompt: Sendable, Hashable {
    var text: String
    var state: String
  }

  /// What a person reads to an assistant.
  struct Pair: Sendable, Hashable {
    var word: String
    var code: String
  }

  /// Reads a line; `nil` for one that is no event.
  init?(_ line: String) {
    guard let members = try? Self.members(of: line), let event = members["event"] else {
      return nil
    }
    switch event {
    case "status":
      self = .status(
        Status(
          status: members["status"] ?? "", mode: members["mode"] ?? "",
          reason: members["reason"] ?? ""))
    case "message":
      guard let id = members["id"].flatMap({ UUID128($0) }) else { return nil }
      self = .message(
        Judge.Shown(id: id, text: members["text"] ?? "", via: members["via"] ?? ""))
    case "prompt":
      self = .prompt(Prompt(text: members["text"] ?? "", state: members["state"] ?? ""))
    case "drink", "record":
      guard let id = members["id"].flatMap({ Int($0) }) else { return nil }
      self = event == "drink" ? .drink(id) : .record(id)
    case "pair": self = .pair(Pair(word: members["word"] ?? "", code: members["code"] ?? ""))
    case _: self = .other
    }
  }

  /// The members whose values are strings or whole numbers.
  private static func members(of line: String) throws(JSONError) -> [String: String] {
    var reader = JSONReader(Array(line.utf8))
    var members: [String: String] = [:]
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch try reader.peek() {
      case .string: members[reader.text(of: key)] = try reader.string()
      case .number: members[reader.text(of: key)] = try reader.intIfWhole().map(String.init)
      case .object, .array, .bool, .null: try reader.skipValue()
      }
    }
    try reader.finish()
    return members
  }
}
