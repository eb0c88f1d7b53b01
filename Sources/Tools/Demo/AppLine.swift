import HoldfastCore
import HoldfastJSON

/// A program that the demo runs, named by its command: an app on the phone, or a device near the
/// phone.
enum App: String, Sendable {
  /// The app that follows the messages of the shop.
  case messages = "stream"
  /// The app that answers assistants from the health data.
  case relay
  /// The app that sends prompts to a program over a session.
  case session
  /// The app that holds a WebSocket. In the demo, it runs within the demo's process.
  case feed = "socket"
  /// The app that uploads health samples.
  case sync = "health sync"
  /// The app that fetches the drinks of a bottle.
  case bottle
  /// The bottle itself.
  case peripheral = "bottle virtual"

  /// The party to which the narrator attributes the app's actions.
  var who: DemoEvent.Who {
    switch self {
    case .feed: .app
    case .peripheral: .bottle
    case .messages, .relay, .session, .sync, .bottle: .phone
    }
  }
}

/// A line that an app printed, with the contents that the demo needs.
enum AppLine: Sendable, Hashable {
  case status(Status)
  case message(MessageChecker.Shown)
  case pair(Pair)
  /// A change to the state of a user's prompt.
  case prompt(Prompt)
  /// A drink that the phone shows, given by its ID.
  case drink(Int)
  /// A drink that the bottle records, given by its ID.
  case record(Int)
  /// The number of drinks that the bottle still has to send, according to itself.
  case unsynced(Int)
  /// Any other event, such as a notice or a gap.
  case other

  /// An app's report about its link.
  struct Status: Sendable, Hashable {
    var status = ""
    var mode = ""
    var reason = ""

    var isConnected: Bool { ["CONNECTED", "running", "connected"].contains(status) }
    var isPolling: Bool { mode == "polling" }
  }

  /// A prompt, given by its text, and the state that the app reports.
  struct Prompt: Sendable, Hashable {
    var text: String
    var state: String

    var isAnswered: Bool { state == "answered" }
  }

  /// The word and the code that a user tells an assistant.
  struct Pair: Sendable, Hashable {
    var word: String
    var code: String
  }

  /// Parses a line. Returns `nil` if it is not an event.
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
    case "bottle": self = members["unsynced"].flatMap { Int($0) }.map(AppLine.unsynced) ?? .other
    case "pair": self = .pair(Pair(word: members["word"] ?? "", code: members["code"] ?? ""))
    case _: self = .other
    }
  }

  /// Returns the members whose values are strings or integers.
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
