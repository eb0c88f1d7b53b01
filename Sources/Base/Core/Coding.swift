// Hand-written `Codable` conformances, and a replacement for Embedded Swift, which has no
// `Codable`. No other file of the module differs in Embedded Swift.
#if hasFeature(Embedded)
  /// A replacement for the standard library's protocol, so that declarations stay the same.
  public protocol Codable {}

  extension LinkPolicy: Codable {}
#else
  extension PathID {
    public init(from decoder: any Decoder) throws {
      self.init(try decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(name)
    }
  }

  extension Instant {
    public init(from decoder: any Decoder) throws {
      self.init(nanoseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(nanoseconds)
    }
  }

  extension Timestamp {
    public init(from decoder: any Decoder) throws {
      self.init(nanoseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(nanoseconds)
    }
  }

  extension CivilTime {
    public init(from decoder: any Decoder) throws {
      self.init(nanoseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(nanoseconds)
    }
  }

  extension NumberedID {
    /// Decodes the identifier from its number.
    public init(from decoder: any Decoder) throws {
      self.init(try decoder.singleValueContainer().decode(UInt64.self))
    }

    /// Encodes the identifier as its number.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(number)
    }
  }

  extension UUID128 {
    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      guard let value = UUID128(try container.decode(String.self)) else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID")
      }
      self = value
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(description)
    }
  }

  extension Secret {
    /// Decodes an empty secret from any string.
    public init(from decoder: any Decoder) throws {
      _ = try decoder.singleValueContainer().decode(String.self)
      self.init("")
    }

    /// Encodes an empty string in place of the text.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode("")
    }
  }

  extension SocketMessage {
    private enum CodingKeys: String, CodingKey { case isText = "text", count = "bytes" }

    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      isText = try container.decode(Bool.self, forKey: .isText)
      // The maximum of `UInt32` is far above any message limit, and sums of such counts do not
      // overflow.
      count = Int(try container.decode(UInt32.self, forKey: .count))
      bytes = nil
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(isText, forKey: .isText)
      try container.encode(count, forKey: .count)
    }
  }

  extension LinkPolicy: Codable {
    private struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }

      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    /// Decodes a flat object of keys and values, as written by `encode(to:)`.
    ///
    /// `preset` names the preset to start from. An absent key keeps that preset's value, so a
    /// hand-written policy contains only the differences.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      let name = try container.decode(String.self, forKey: Key(stringValue: "preset"))
      guard let preset = LinkPolicy.preset(named: name) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "no preset is named \(name)"))
      }
      // Keys are applied in table order, since setting one key may also set a value that a later
      // key corrects.
      let known = PolicyKey.all.map { $0.name }
      let given = container.allKeys.map { $0.stringValue }.filter { $0 != "preset" }
      let keys = known.filter(given.contains) + given.filter { !known.contains($0) }.sorted()
      var changes: [(key: String, value: String)] = []
      for key in keys {
        changes.append((key, try container.decode(String.self, forKey: Key(stringValue: key))))
      }
      do {
        self = try preset.setting(changes)
      } catch {
        throw DecodingError.dataCorrupted(
          .init(
            codingPath: decoder.codingPath,
            debugDescription: error.problems.joined(separator: "; ")))
      }
    }

    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(name, forKey: Key(stringValue: "preset"))
      for (key, value) in values {
        try container.encode(value, forKey: Key(stringValue: key))
      }
    }
  }
#endif

/// A text that must not appear in a journal or a log.
///
/// A secret is encoded as an empty string, and its description hides the text. A journal contains a
/// machine's inputs, so this type keeps codes and tokens out of journals. In a replay, both sides
/// decode the empty string, so the values compare equal.
public struct Secret: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The secret text.
  public let text: String

  /// Creates a secret.
  public init(_ text: String) {
    self.text = text
  }

  /// A placeholder that never contains the text.
  public var description: String { "[secret]" }
}
