public import HoldfastCore
package import HoldfastJSON

/// The body of `POST /relay/assistants`. The request lists the pairings and can end some of them.
public enum AssistantsOrder: Sendable, Hashable, Codable {
  /// End no pairing.
  case list
  /// End the pairing with this id.
  case end(String)
  /// End all pairings.
  case endAll
  /// Allow or forbid the assistant with this id to read synced samples while the phone is away.
  case synced(String, allows: Bool)

  /// The value of `end` for all pairings.
  private static let all = "all"
  private static let maxBytes = 64

  /// Reads the body. Throws an error if the body is not a JSON object or a member has the wrong
  /// type.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> AssistantsOrder {
    let fields = JSONFields(bytes, keeping: ["end", "id", "synced"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      if let allows = try fields.optionalBool("synced") {
        return .synced(try fields.string("id", atMost: maxBytes), allows: allows)
      }
      guard fields.has("end") else { return .list }
      let id = try fields.string("end", atMost: maxBytes)
      return id == all ? .endAll : .end(id)
    }
  }

  /// The body of the request.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 40)
    writer.beginObject()
    switch self {
    case .list: break
    case .end(let id): writer.entry("end", id)
    case .endAll: writer.entry("end", Self.all)
    case .synced(let id, let allows):
      writer.entry("id", id)
      writer.entry("synced", allows)
    }
    writer.endObject()
    return writer.bytes
  }
}

/// The answer to `POST /relay/assistants`: the assistants paired with this phone, oldest first.
public struct PairedAssistants: Sendable, Hashable, Codable {
  /// The maximum number of assistants that can be paired at the same time.
  public var limit: Int
  /// The paired assistants.
  public var assistants: [Assistant]
  /// The user of health sync whose samples assistants can read while the phone is away, or `nil` if
  /// they can read none.
  public var syncedUser: String?

  /// The pairing of one assistant.
  public struct Assistant: Sendable, Hashable, Codable {
    /// The id of the pairing.
    public var id: String
    /// The assistant's self-reported name, or `nil` if it sent none.
    public var name: AssistantName?
    /// The time of the pairing, or `nil` if it is unknown.
    public var since: Timestamp?
    /// The time of the latest question, or `nil` if there was none.
    public var lastQuestion: Timestamp?
    /// The time at which the pairing expires.
    public var expiresAt: Timestamp
    /// Whether the assistant may read synced samples while the phone is away.
    public var readsSynced: Bool

    /// Creates a pairing from its parts.
    public init(
      id: String, name: AssistantName?, since: Timestamp?, lastQuestion: Timestamp?,
      expiresAt: Timestamp, readsSynced: Bool = true
    ) {
      self.id = id
      self.name = name
      self.since = since
      self.lastQuestion = lastQuestion
      self.expiresAt = expiresAt
      self.readsSynced = readsSynced
    }
  }

  /// Creates a list of pairings.
  public init(limit: Int, assistants: [Assistant], syncedUser: String? = nil) {
    self.limit = limit
    self.assistants = assistants
    self.syncedUser = syncedUser
  }

  /// The maximum number of assistants that are read. The limit is Holdfast's own.
  public static let maxCount = 1_000

  /// The maximum size of a user's name, in bytes. The limit is Holdfast's own.
  private static let maxUserBytes = 1_024

  /// Reads the body. Throws an error if it does not have this form.
  public static func read(_ bytes: [UInt8]) throws(RelayWireError) -> PairedAssistants {
    let fields = JSONFields(bytes, keeping: ["limit", "assistants", "synced_user"])
    return try RelayWireError.about(nil) { () throws(FieldFault) in
      try fields.check()
      return PairedAssistants(
        limit: try fields.int("limit", in: 1...1_000_000),
        assistants: try Assistant.list("assistants", fields),
        syncedUser: fields.has("synced_user")
          ? try fields.string("synced_user", atMost: maxUserBytes) : nil)
    }
  }

  /// The body of the answer.
  public var bytes: [UInt8] {
    var writer = JSONWriter(capacity: 60 + 200 * assistants.count)
    writer.beginObject()
    writer.entry("success", true)
    writer.entry("limit", limit)
    writer.key("assistants")
    Assistant.write(assistants, to: &writer)
    if let syncedUser { writer.entry("synced_user", syncedUser) }
    writer.endObject()
    return writer.bytes
  }
}

extension PairedAssistants.Assistant {
  /// The maximum size of a received name or version, in bytes. The limit is Holdfast's own.
  private static let maxTextBytes = 1_024

  /// Reads the pairings in a member of a JSON object. There are none if the member is missing.
  static func list(_ name: String, _ fields: JSONFields) throws(FieldFault) -> [Self] {
    var found: [Self] = []
    for element in try fields.elements(name, atMost: PairedAssistants.maxCount) {
      found.append(try Self(element))
    }
    return found
  }

  /// Writes pairings as a JSON array.
  static func write(_ assistants: [Self], to writer: inout JSONWriter) {
    writer.beginArray()
    for assistant in assistants { assistant.write(to: &writer) }
    writer.endArray()
  }

  private init(_ element: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(
      element,
      keeping: ["id", "name", "version", "since", "last_question", "expires_at", "synced"])
    try fields.check()
    self.init(
      id: try fields.string("id", atMost: 64),
      name: AssistantName(
        try Self.text("name", fields), version: try Self.text("version", fields)),
      since: try Self.time("since", fields), lastQuestion: try Self.time("last_question", fields),
      expiresAt: try Self.required("expires_at", fields),
      readsSynced: try fields.optionalBool("synced") ?? true)
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

  /// Writes the pairing as one JSON object. Commands use it for machine-readable output.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writeMembers(to: &writer)
    writer.endObject()
  }

  /// Writes the members of the pairing into an open object.
  package func writeMembers(to writer: inout JSONWriter) {
    writer.entry("id", id)
    if let name { writer.entry("name", name.name) }
    if let version = name?.version { writer.entry("version", version) }
    if let since { writer.entry("since", RFC3339.format(since)) }
    if let lastQuestion { writer.entry("last_question", RFC3339.format(lastQuestion)) }
    writer.entry("expires_at", RFC3339.format(expiresAt))
    if !readsSynced { writer.entry("synced", false) }
  }
}

/// The name that an assistant sends in its handshake. It is not verified.
public struct AssistantName: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The name, such as `claude-ai`.
  public var name: String
  /// The version, such as `1.4.2`.
  public var version: String?

  /// The maximum length of the name and of the version, in characters. The limit is Holdfast's own.
  public static let maxLength = 64

  /// Creates a name. Control characters are removed, and the text is truncated to `maxLength`.
  /// Returns `nil` if no visible text remains.
  public init?(_ name: String?, version: String? = nil) {
    guard let name = name.flatMap(Self.plain) else { return nil }
    self.name = name
    self.version = version.flatMap(Self.plain)
  }

  private static func plain(_ text: String) -> String? {
    let printable = text.unicodeScalars.lazy.filter { scalar in
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
    text.unicodeScalars.append(contentsOf: printable.prefix(maxLength))
    return text.allSatisfy { $0 == " " } ? nil : text
  }

  /// The name with the version.
  public var description: String { version.map { "\(name) \($0)" } ?? name }
}
