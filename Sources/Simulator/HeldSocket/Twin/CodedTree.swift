/// What a coder writes of a value: texts, numbers and named parts.
indirect enum CodedTree: Hashable {
  case text(String)
  case whole(Int128)
  case flag(Bool)
  case parts([String: CodedTree])
  case none

  /// What cannot be coded here, or is not what is asked for.
  struct Fault: Error {}

  /// Writes a value.
  static func written(_ value: some Encodable) throws -> CodedTree {
    switch value {
    case let text as String: return .text(text)
    case let flag as Bool: return .flag(flag)
    case let whole as any BinaryInteger: return .whole(Int128(whole))
    case _:
      let writer = CodedWriter()
      try value.encode(to: writer)
      return writer.tree
    }
  }

  /// Reads a value.
  func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let isPlain = type is String.Type || type is Bool.Type || type is any FixedWidthInteger.Type
    guard isPlain else { return try Value(from: CodedReader(tree: self)) }
    let plain: Any? =
      switch self {
      case .text(let text): text
      case .flag(let flag): flag
      case .whole(let whole):
        type is Int64.Type
          ? Int64(exactly: whole)
          : type is UInt64.Type ? UInt64(exactly: whole) as Any? : UInt32(exactly: whole)
      case .parts, .none: nil
      }
    guard let value = plain as? Value else { throw Fault() }
    return value
  }
}

/// An encoder that makes a tree; of containers only those of a single value and of named parts.
final class CodedWriter: Encoder {
  var tree = CodedTree.none
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    tree = .parts([:])
    return KeyedEncodingContainer(Parts(writer: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { List(writer: self) }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(writer: self) }

  /// A container of one value.
  struct Single: SingleValueEncodingContainer {
    let writer: CodedWriter
    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() throws { writer.tree = .none }
    mutating func encode<Value: Encodable>(_ value: Value) throws {
      writer.tree = try CodedTree.written(value)
    }
  }

  /// A container of named parts.
  struct Parts<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: CodedWriter
    var codingPath: [any CodingKey] { [] }

    private func put(_ tree: CodedTree, _ key: Key) {
      guard case .parts(var all) = writer.tree else { return }
      all[key.stringValue] = tree
      writer.tree = .parts(all)
    }

    mutating func encodeNil(forKey key: Key) throws { put(.none, key) }
    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
      put(try CodedTree.written(value), key)
    }
    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      CodedWriter().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      CodedWriter().unkeyedContainer()
    }
    mutating func superEncoder() -> any Encoder { CodedWriter() }
    mutating func superEncoder(forKey key: Key) -> any Encoder { CodedWriter() }
  }

  /// A container of values in order, which nothing here uses.
  struct List: UnkeyedEncodingContainer {
    let writer: CodedWriter
    var codingPath: [any CodingKey] { [] }
    var count: Int { 0 }

    mutating func encodeNil() throws { throw CodedTree.Fault() }
    mutating func encode<Value: Encodable>(_ value: Value) throws { throw CodedTree.Fault() }
    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
      CodedWriter().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
    mutating func superEncoder() -> any Encoder { CodedWriter() }
  }
}

/// A decoder of a tree.
struct CodedReader: Decoder {
  let tree: CodedTree
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  func container<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    guard case .parts(let all) = tree else { throw CodedTree.Fault() }
    return KeyedDecodingContainer(Parts(all: all))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw CodedTree.Fault() }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { Single(tree: tree) }

  /// A container of one value.
  struct Single: SingleValueDecodingContainer {
    let tree: CodedTree
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { tree == .none }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try tree.read(type) }
  }

  /// A container of named parts.
  struct Parts<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let all: [String: CodedTree]
    var codingPath: [any CodingKey] { [] }
    /// In the order of their names, so that runs are repeated.
    var allKeys: [Key] { all.keys.sorted().compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { all[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { all[key.stringValue] == CodedTree.none }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      guard let tree = all[key.stringValue] else { throw CodedTree.Fault() }
      return try tree.read(type)
    }
    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
      throw CodedTree.Fault()
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      throw CodedTree.Fault()
    }
    func superDecoder() throws -> any Decoder { throw CodedTree.Fault() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw CodedTree.Fault() }
  }
}
