import LinkCore
import LinkJSON
import LinkWire

/// One line that the phone printed, as far as the story needs it.
enum PhoneLine: Sendable, Hashable {
  case status(Status)
  case message(Judge.Shown)
  /// Anything else, such as a notice or a gap.
  case other(event: String, detail: String)

  /// What the phone says of its link.
  struct Status: Sendable, Hashable {
    var status = ""
    var mode = ""
    var reason = ""

    var isConnected: Bool { status == "CONNECTED" }
    var isPolling: Bool { mode == "polling" }
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
    case _:
      self = .other(event: event, detail: members["detail"] ?? members["kind"] ?? "")
    }
  }

  /// The members whose values are strings.
  static func members(of line: String) throws(JSONError) -> [String: String] {
    var reader = JSONReader(Array(line.utf8))
    var members: [String: String] = [:]
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if try reader.peek() == .string {
        members[reader.text(of: key)] = try reader.string()
      } else {
        try reader.skipValue()
      }
    }
    try reader.finish()
    return members
  }
}
