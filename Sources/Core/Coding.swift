// The coders that are written by hand, and what stands in their place in Embedded Swift, which has
// no coding: the one file of this module that differs there.
#if hasFeature(Embedded)
  /// Stands for the standard library's protocol of this name, so that declarations are the same.
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
    /// Reads the bare number.
    public init(from decoder: any Decoder) throws {
      self.init(try decoder.singleValueContainer().decode(UInt64.self))
    }

    /// Writes the bare number.
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
    /// Reads any text as the empty one.
    public init(from decoder: any Decoder) throws {
      _ = try decoder.singleValueContainer().decode(String.self)
      self.init("")
    }

    /// Writes an empty text.
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
      // Far above any limit of messages, so that sums of counts stay in range.
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

    /// Reads a flat object of keys and values as `encode` writes it.
    ///
    /// `preset` names the preset that it starts from; a key that is absent keeps that preset's
    /// value, so a hand-written policy states only what differs.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      let name = try container.decode(String.self, forKey: Key(stringValue: "preset"))
      guard let preset = LinkPolicy.preset(named: name) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "no preset is named \(name)"))
      }
      // In the order of the table: what a key moves besides itself is put right by those behind it.
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

/// A text that must not reach a journal or a log: it is encoded and described as nothing.
///
/// A journal holds the inputs of a machine; this type keeps codes and tokens out of it. A replay
/// reads the empty text on both sides, so the values compare equal.
public struct Secret: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The text itself.
  public let text: String

  /// Creates a secret.
  public init(_ text: String) {
    self.text = text
  }

  /// Never the text.
  public var description: String { "[secret]" }
}
