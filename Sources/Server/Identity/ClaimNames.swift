import HoldfastJSON

/// The claims from which a token's user, name and shops are read.
///
/// The text form is a list of `NAME=PATH` or `NAME=PATH[PREFIX]`, separated by commas:
///
///     user=sub,name=name,shops=realm_access.roles[shop-]
///
/// A path leads into objects by dots, also if a claim's own name contains some. Of texts that begin
/// with the prefix, the rest is used; others are ignored.
public struct ClaimNames: Sendable, Hashable, Codable, CustomStringConvertible {
  /// A claim, and the beginning of its texts that is removed.
  public struct Place: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The name of the claim, with dots between the names of nested objects.
    public var path: String
    /// The beginning of a text that is removed. It is empty if the whole text is used.
    public var prefix: String

    /// Creates a place from its parts.
    public init(_ path: String, prefix: String = "") { (self.path, self.prefix) = (path, prefix) }

    /// The text form.
    public var description: String { prefix.isEmpty ? path : "\(path)[\(prefix)]" }

    fileprivate init?(text: Substring) {
      guard text.last == "]", let bracket = text.firstIndex(of: "[") else {
        guard !text.isEmpty, !text.contains("["), !text.contains("]") else { return nil }
        self.init(String(text))
        return
      }
      let prefix = text[text.index(after: bracket)...].dropLast()
      guard bracket > text.startIndex, !prefix.isEmpty, !prefix.contains("["),
        !prefix.contains("]")
      else { return nil }
      self.init(String(text[..<bracket]), prefix: String(prefix))
    }
  }

  /// The claim with the user's id.
  public var user = Place("sub")
  /// The claim with the user's display name.
  public var name = Place("name")
  /// The claim with the shops that the user belongs to: a list of texts, or words in one text.
  public var shops = Place("shops")
  /// The claim with the shops in which the user may delete the messages of others; `nil` for none.
  public var admin: Place?

  /// The maximum size of the text form, in bytes. The limit is Holdfast's own.
  static let maxBytes = 1_024

  /// Creates the usual names.
  public init() {}

  /// Parses the text form. What it does not name has its usual name. Returns `nil` for another form.
  public init?(_ text: String) {
    self.init()
    guard !text.isEmpty, text.utf8.count <= Self.maxBytes else { return nil }
    var known: Set<Substring> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let equals = part.firstIndex(of: "="),
        let place = Place(text: part[part.index(after: equals)...]),
        known.insert(part[..<equals]).inserted
      else { return nil }
      switch part[..<equals] {
      case "user": user = place
      case "name": name = place
      case "shops": shops = place
      case "admin": admin = place
      case _: return nil
      }
    }
  }

  /// The text form.
  public var description: String {
    let parts = ["user=\(user)", "name=\(name)", "shops=\(shops)"]
    return (parts + (admin.map { ["admin=\($0)"] } ?? [])).joined(separator: ",")
  }
}

extension ClaimNames.Place {
  /// Returns the text of the claim, without the prefix; `nil` if there is none.
  ///
  /// - Throws: An error if the payload is not a JSON object.
  func text(in payload: [UInt8]) throws(JSONError) -> String? {
    guard case .text(let text) = try value(in: payload) else { return nil }
    return rest(of: text)
  }

  /// Returns the texts of a list, or the words of a single text, without the prefix. It is empty if
  /// there are none.
  ///
  /// - Throws: An error if the payload is not a JSON object.
  func texts(in payload: [UInt8]) throws(JSONError) -> [String] {
    switch try value(in: payload) {
    case nil: []
    case .texts(let all): all.compactMap(rest)
    // A scope is such a text (RFC 6749 section 3.3).
    case .text(let text): text.split(separator: " ").compactMap { rest(of: String($0)) }
    }
  }

  private func rest(of text: String) -> String? {
    // By bytes: a combining mark after the prefix must not be removed with its last character.
    guard text.utf8.starts(with: prefix.utf8) else { return nil }
    return String(Substring(text.utf8.dropFirst(prefix.utf8.count)))
  }

  private func value(in payload: [UInt8]) throws(JSONError) -> Value? {
    var reader = JSONReader(payload)
    guard try reader.peek() == .object else { throw JSONError("expected '{'", at: 0) }
    let value = try Self.find(path[...], in: &reader)
    try reader.finish()
    return value
  }

  private enum Value {
    case text(String)
    case texts([String])
  }

  /// Finds the value at a path, and reads the whole object. The longest name that fits is used.
  private static func find(
    _ path: Substring, in reader: inout JSONReader
  ) throws(JSONError) -> Value? {
    guard try reader.peek() == .object else {
      try reader.skipValue()
      return nil
    }
    var found: (length: Int, value: Value)?
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = reader.text(of: key)
      let value: Value?
      if name == path {
        value = try read(&reader)
      } else if !name.isEmpty, path.utf8.starts(with: "\(name).".utf8) {
        value = try find(Substring(path.utf8.dropFirst(name.utf8.count + 1)), in: &reader)
      } else {
        try reader.skipValue()
        value = nil
      }
      let length = name.utf8.count
      if let value, length >= found?.length ?? 0 { found = (length, value) }
    }
    return found?.value
  }

  /// Reads a text or a list of texts. Elements of other kinds are ignored.
  private static func read(_ reader: inout JSONReader) throws(JSONError) -> Value? {
    switch try reader.peek() {
    case .string: return .text(try reader.string())
    case .array:
      var texts: [String] = []
      try reader.beginArray()
      while try reader.nextElement() {
        if try reader.peek() == .string {
          texts.append(try reader.string())
        } else {
          try reader.skipValue()
        }
      }
      return .texts(texts)
    case .object, .number, .bool, .null:
      try reader.skipValue()
      return nil
    }
  }
}
