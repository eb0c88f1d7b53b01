public import HoldfastCore
import HoldfastJSON
public import HoldfastSessionData

/// A record of the events of one script.
public struct AuditRecord: Sendable, Hashable {
  /// The events, in order.
  public var events: [Event] = []
  /// Whether the script ran to the last step.
  public var isComplete = false
  /// The wall-clock time of this machine at the start of the script.
  public var wall = Timestamp(nanoseconds: 0)
  /// The number of compressed messages that arrived, by connection.
  public var compressed: [Int: Int] = [:]

  /// Creates an empty record.
  public init() {}

  /// An event on a connection.
  public struct Event: Sendable, Hashable {
    /// The time since the start of the script.
    public var at: Duration
    /// The number of the connection in the script.
    public var socket: Int
    /// The kind of event.
    public var kind: Kind
  }

  /// The kind of an event.
  public enum Kind: Sendable, Hashable {
    case opening
    /// A successful upgrade. The names of the header fields are in lowercase.
    case opened(headers: [String: String])
    /// The sending of a message or of bytes. The text describes them without secrets.
    case sent(String)
    case received(AuditMessage)
    case binary(bytes: Int)
    /// A WebSocket ping from the server.
    case serverPing
    /// A WebSocket pong from the server.
    case pong
    case ended(LinkFailure)
    /// A wait of the script that ended before the expected event.
    case late(String)
  }
}

/// A text message from a server.
public struct AuditMessage: Sendable, Hashable {
  /// The value of the message's `type`. It is `nil` if `type` is missing or not a string, or if the
  /// message is not a JSON object.
  public var type: String?
  /// The decoded message; `nil` if it cannot be decoded as a message of the session protocol.
  public var content: SessionServerMessage?
  /// The names of the message's members, at most 64.
  public var names: [String]
  /// The first member name, at any depth, that is not in snake_case; `nil` if there is none.
  public var oddName: String?
  /// The message's length in bytes.
  public var count: Int
  /// The beginning of the message, without secrets.
  public var excerpt: String

  static let excerptCharacters = 160

  /// Creates a message from its bytes.
  ///
  /// - Parameter hide: A function that removes secrets from a text.
  public init(_ bytes: [UInt8], hide: (String) -> String) {
    let fields = JSONFields(bytes, keeping: ["type"])
    type = fields.fault == nil ? ((try? fields.optionalString("type")) ?? nil).map(hide) : nil
    content = try? SessionServerMessage.read(bytes)
    names = Self.names(bytes)
    var reader = JSONReader(bytes)
    oddName = (try? Self.oddName(in: &reader)) ?? nil
    count = bytes.count
    // Secrets are removed before the text is truncated, so that no part of a secret remains.
    let text = hide(String(decoding: bytes, as: UTF8.self))
    let head = text.prefix(Self.excerptCharacters)
    excerpt = head.endIndex == text.endIndex ? text : "\(head)… (\(bytes.count) bytes)"
  }

  /// Whether all member names, including nested ones, are in snake_case.
  var isSnake: Bool { !names.isEmpty && names.allSatisfy(Self.isSnake) && oddName == nil }

  private static func isSnake(_ name: String) -> Bool {
    name.utf8.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F
    }
  }

  /// Returns the first member name, at any depth, that is not in snake_case; `nil` if there is
  /// none.
  private static func oddName(in reader: inout JSONReader) throws(JSONError) -> String? {
    switch try reader.peek() {
    case .object:
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let name = reader.text(of: key)
        guard isSnake(name) else { return name }
        if let odd = try oddName(in: &reader) { return odd }
      }
    case .array:
      try reader.beginArray()
      while try reader.nextElement() {
        if let odd = try oddName(in: &reader) { return odd }
      }
    case .string, .number, .bool, .null: try reader.skipValue()
    }
    return nil
  }

  private static func names(_ bytes: [UInt8]) -> [String] {
    var reader = JSONReader(bytes)
    guard (try? reader.beginObject()) != nil else { return [] }
    var names: [String] = []
    while names.count < 64, let key = try? reader.nextKey() {
      names.append(reader.text(of: key))
      guard (try? reader.skipValue()) != nil else { break }
    }
    return names
  }
}

extension AuditRecord {
  /// Returns the messages that follow an event, on one connection or on all connections.
  func messages(on socket: Int? = nil, after start: Int = -1) -> [(at: Int, AuditMessage)] {
    events.indices.compactMap { index in
      guard index > start, socket == nil || events[index].socket == socket,
        case .received(let message) = events[index].kind
      else { return nil }
      return (index, message)
    }
  }

  /// Returns the index of the first event after `index` for which `isWanted` returns true.
  func first(after index: Int = -1, _ isWanted: (Event) -> Bool) -> Int? {
    events.indices.first { $0 > index && isWanted(events[$0]) }
  }

  /// Returns the index of the first message of the given type.
  func first(_ type: String, on socket: Int? = nil, after start: Int = -1) -> Int? {
    messages(on: socket, after: start).first { $0.1.type == type }?.at
  }

  /// Returns the index of the first sent message whose text begins with `name`.
  func sent(_ name: String, on socket: Int? = nil, after start: Int = -1) -> Int? {
    first(after: start) {
      guard case .sent(let text) = $0.kind else { return false }
      return text.hasPrefix(name) && (socket == nil || $0.socket == socket)
    }
  }

  /// Returns the index of the next message sent on the same connection as an event. If there is
  /// none, returns the number of events.
  func next(after index: Int) -> Int {
    let next = first(after: index) {
      if case .sent = $0.kind { $0.socket == events[index].socket } else { false }
    }
    return next ?? events.count
  }

  /// Returns the index of the event that reports the end of a connection.
  func end(of socket: Int) -> Int? {
    first {
      guard case .ended = $0.kind else { return false }
      return $0.socket == socket
    }
  }

  /// Returns a text that describes an event.
  func text(_ index: Int) -> String { Self.text(events[index].kind) }

  /// Returns a text that describes two events and the time between them.
  func between(_ start: Int, _ end: Int) -> String {
    let time = events[end].at - events[start].at
    return "\(text(start)); \(text(end)) after \(time.shown)"
  }

  /// Returns a text that describes an event and at most `most` later events on the same connection.
  func aftermath(of start: Int, most: Int = 4) -> String {
    let later = events.indices.filter {
      $0 > start && (events[$0].socket == events[start].socket)
    }
    let texts = later.prefix(most).map {
      "\(text($0)) after \((events[$0].at - events[start].at).shown)"
    }
    return ([text(start)] + (texts.isEmpty ? ["nothing came back"] : texts)).joined(separator: "; ")
  }

  /// Returns the finding for a missing answer: `missing` if the script waited for the answer,
  /// otherwise `unseen`.
  func absence(after start: Int, _ prefix: String = "", most: Int = 4) -> Finding {
    let text = prefix + aftermath(of: start, most: most)
    return hasWaited(after: start)
      ? .missing(text) : .unseen("the audit ended before an answer: " + text)
  }

  /// Returns whether the script waited for an answer or no further answer could arrive.
  func hasWaited(after start: Int) -> Bool {
    isComplete
      || events.indices.contains { index in
        guard index > start, events[index].socket == events[start].socket else { return false }
        switch events[index].kind {
        case .late, .ended, .sent: return true
        case .opening, .opened, .received, .binary, .serverPing, .pong: return false
        }
      }
  }

  private static func text(_ kind: Kind) -> String {
    switch kind {
    case .opening: "opened a connection"
    case .opened: "the upgrade succeeded"
    case .sent(let text): "sent \(text)"
    case .received(let message): "received \(message.excerpt)"
    case .binary(let bytes): "received a binary message of \(bytes) bytes"
    case .serverPing: "received a WebSocket ping"
    case .pong: "received a WebSocket pong"
    case .ended(let failure): failure.description
    case .late(let text): "waited in vain for \(text)"
    }
  }
}

extension Duration {
  /// A text with the rounded duration, in milliseconds or seconds.
  ///
  /// Durations from 10 ms to one second are rounded to whole milliseconds, and others to hundredths
  /// of the unit.
  var shown: String {
    let (seconds, attoseconds) = components
    let micro = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    if micro < 9_995 { return "\(Self.decimal(micro, 1_000)) ms" }
    if micro < 999_500 { return "\((micro + 500) / 1_000) ms" }
    return "\(Self.decimal(micro, 1_000_000)) s"
  }

  /// Returns a quotient with two decimal places.
  private static func decimal(_ value: Int64, _ unit: Int64) -> String {
    let hundredths = (value * 100 + unit / 2) / unit
    let digits = String(hundredths % 100 + 100).dropFirst()
    return "\(hundredths / 100).\(digits)"
  }
}
