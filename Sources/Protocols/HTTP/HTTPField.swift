/// One header field; the name of a received one is lowercased.
public struct HTTPField: Equatable, Sendable {
  /// The field name (RFC 9110 section 5.1).
  public var name: String
  /// The field value without the white space around it (RFC 9110 section 5.5).
  public var value: String

  /// A field as given; nothing is checked here.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// One `name=value` of a query, decoded.
public struct HTTPQueryItem: Equatable, Sendable {
  /// What stands before the first `=`.
  public var name: String
  /// What stands behind it; empty when there is no `=`.
  public var value: String
}

extension [HTTPField] {
  /// The value of the first field of that lowercased name.
  func first(_ name: String) -> String? {
    first { $0.name == name }?.value
  }

  func values(_ name: String) -> [String] {
    compactMap { $0.name == name ? $0.value : nil }
  }

  /// The comma-separated members of all fields of that name, trimmed, lowercased.
  func tokens(_ name: String) -> [String] {
    guard contains(where: { $0.name == name }) else { return [] }
    return values(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
      .map { Text.trimmed(Substring($0)).lowercased() }
      .filter { !$0.isEmpty }
  }
}
