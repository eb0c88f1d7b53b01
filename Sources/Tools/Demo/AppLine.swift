import LinkCore
import LinkJSON
import LinkWire

/// An app on the phone or a device near it, named by the command that runs it.
enum App: String, Sendable {
  /// The app that follows the shop's messages.
  case messages = "stream"
  /// The app that answers assistants from the health data.
  case relay
  /// The app that talks to a program over a session.
  case session
  /// The app that holds a WebSocket, within the process of the demo.
  case feed = "socket"
  /// The app that fetches the drinks of a bottle.
  case bottle
  /// The bottle itself.
  case peripheral = "bottle virtual"

  /// The party that the narrator names for the app.
  var who: DemoEvent.Who {
    switch self {
    case .feed: .app
    case .peripheral: .bottle
    case .messages, .relay, .session, .bottle: .phone
    }
  }
}

/// A line that an app printed, as far as the demo needs it.
enum AppLine: Sendable, Hashable {
  case status(Status)
  case message(MessageChecker.Shown)
  case pair(Pair)
  /// A change of the state of a user's prompt.
  case prompt(Prompt)
  /// A drink with its ID, as the phone shows it.
  case drink(Int)
  /// A drink with its ID, as the bottle records it.
  case record(Int)
  /// Anything else, such as a notice or a gap.
  case other

  /// An app's report about its link.
  struct Status: Sendable, Hashable {
    var status = ""
    var mode = ""
    var reason = ""

    var isConnected: Bool { ["CONNECTED", "running", "connected"].contains(status) }
    var isPolling: Bool { mode == "polling" }
  }

  /// A prompt by its text, and its state as the app names it.
  struct Prompt: Sendable, Hashable {
    var text: String
    var state: String
  }

  /// The word and the code that a person reads out to an assistant.
  struct Pair: Sendable, Hashable {
    var word: String
    var code: String
  }

  /// Reads a line; returns `nil` if it is not an event.
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
        MessageChecker.Shown(id: id, text: members["text"] ?? "", via: members["via"] ?? ""))
    case "prompt":
      self = .prompt(Prompt(text: members["text"] ?? "", state: members["state"] ?? ""))
    case "drink", "record":
      guard let id = members["id"].flatMap({ Int($0) }) else { return nil }
      self = event == "drink" ? .drink(id) : .record(id)
    case "pair": self = .pair(Pair(word: members["word"] ?? "", code: members["code"] ?? ""))
    case _: self = .other
    }
  }

  /// Returns the members whose values are strings or whole numbers.
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
