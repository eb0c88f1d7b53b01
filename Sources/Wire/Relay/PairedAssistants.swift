public import LinkCore
package import LinkJSON

/// Body of `POST /relay/assistants`: which pairings to end; none only lists them.
public enum AssistantsOrder: Sendable, Hashable, Codable {
  /// Nothing.
  case list
  /// That of this id.
  case end(String)
  /// All of them.
  case endAll

  /// The word for all of them.
  private static let all = "all"
  private static let maxBytes = 64

  /// Reads the body. Throws if it is no JSON object, or `end` is no text.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> AssistantsOrder {
    let fields = JSONFields(bytes, keeping: ["end"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      guard fields.has("end") else { return .list }
      let id = try fields.string("end", atMost: maxBytes)
      return id == all ? .endAll : .end(id)
    }
  }

  /// The body.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 40)
    writer.beginObject()
    switch self {
    case .list: break
    case .end(let id): writer.entry("end", id)
    case .endAll: writer.entry("end", Self.all)
    }
    writer.endObject()
    return writer.bytes
  }
}

/// Answer to `POST /relay/assistants`: the assistants that may ask this phone, the oldest first.
public struct PairedAssistants: Sendable, Hashable, Codable {
  /// How many may be paired at once.
  public var limit: Int
  /// Those that are.
  public var assistants: [Assistant]

  /// One assistant's pairing.
  public struct Assistant: Sendable, Hashable, Codable {
    /// Names the pairing to the phone.
    public var id: String
    /// What the assistant calls itself; `nil` if it did not say.
    public var name: AssistantName?
    /// When it was paired; `nil` if that is not known.
    public var since: Timestamp?
    /// When it asked last; `nil` if it has not.
    public var lastQuestion: Timestamp?
    /// When it has to be paired anew.
    public var expiresAt: Timestamp

    /// A pairing from its parts.
    public init(
      id: String, name: AssistantName?, since: Timestamp?, lastQuestion: Timestamp?,
      expiresAt: Timestamp
    ) {
      self.id = id
      self.name = name
      self.since = since
      self.lastQuestion = lastQuestion
      self.expiresAt = expiresAt
    }
  }

  /// A list from its parts.
  public init(limit: Int, assistants: [Assistant]) {
    self.limit = limit
    self.assistants = assistants
  }

  /// The most assistants that are read; ours.
  public static let maxCount = 1_000

  /// Reads the body. Throws if it is not of this form.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> PairedAssistants {
    let fields = JSONFields(bytes, keeping: ["limit", "assistants"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      let limit = try fields.int("limit", in: 1...1_000_000)
      var found: [Assistant] = []
      for element in try fields.elements("assistants", atMost: maxCount) {
        found.append(try Assistant(element))
      }
      return PairedAssistants(limit: limit, assistants: found)
    }
  }

  /// The body.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 60 + 200 * assistants.count)
    writer.beginObject()
    writer.entry("success", true)
    writer.entry("limit", limit)
    writer.key("assistants")
    writer.beginArray()
    for assistant in assistants { assistant.write(to: &writer) }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }
}

extension PairedAssistants.Assistant {
  /// The longest name or version that is read; ours.
  private static let maxTextBytes = 1_024

  fileprivate init(_ element: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(
      element, keeping: ["id", "name", "version", "since", "last_question", "expires_at"])
    try fields.check()
    self.init(
      id: try fields.string("id", atMost: 64),
      name: AssistantName(
        try Self.text("name", fields), version: try Self.text("version", fields)),
      since: try Self.time("since", fields), lastQuestion: try Self.time("last_question", fields),
      expiresAt: try Self.required("expires_at", fields))
  }

  private static func text(_ name: String, _ fields: JSONFields) throws(FieldFault) -> String? {
    guard let text = try fields.optionalString(name) else { return nil }
    guard text.utf8.count <= maxTextBytes else { throw .outOfBounds(field: name) }
    return text
  }

  private static func required(
    _ name: String, _ fields: JSONFields
  ) throws(FieldFault) -> Timestamp {
    guard let time = try time(name, fields) else { throw .missing(field: name) }
    return time
  }

  private static func time(
    _ name: String, _ fields: JSONFields
  ) throws(FieldFault) -> Timestamp? {
    guard let text = try fields.optionalString(name) else { return nil }
    guard let time = RFC3339.parse(text) else { throw .wrongType(field: name) }
    return time
  }

  /// Writes it as one object; also for programs that read the output of a command.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writeMembers(to: &writer)
    writer.endObject()
  }

  /// Writes its members into an object.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.entry("id", id)
    if let name { writer.entry("name", name.name) }
    if let version = name?.version { writer.entry("version", version) }
    if let since { writer.entry("since", RFC3339.format(since)) }
    if let lastQuestion { writer.entry("last_question", RFC3339.format(lastQuestion)) }
    writer.entry("expires_at", RFC3339.format(expiresAt))
  }
}

/// The name that an assistant gives itself in its handshake; it is not verified.
public struct AssistantName: Sendable, Hashable, Codable, CustomStringConvertible {
  /// Such as `claude-ai`.
  public var name: String
  /// Such as `1.4.2`.
  public var version: String?

  /// The most characters of either that are kept; ours.
  public static let maxLength = 64

  /// A name without control characters, cut to `maxLength`; `nil` if nothing is left of it.
  public init?(_ name: String?, version: String? = nil) {
    guard let name = name.flatMap(Self.plain) else { return nil }
    self.name = name
    self.version = version.flatMap(Self.plain)
  }

  private static func plain(_ text: String) -> String? {
    let kept = text.unicodeScalars.lazy.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
        .unassigned:
        false
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber,
        .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation,
        .initialPunctuation, .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol,
        .modifierSymbol, .otherSymbol, .spaceSeparator:
        true
      @unknown default: false
      }
    }
    var text = ""
    text.unicodeScalars.append(contentsOf: kept.prefix(maxLength))
    return text.allSatisfy { $0 == " " } ? nil : text
  }

  /// The name with the version.
  public var description: String { version.map { "\(name) \($0)" } ?? name }
}
