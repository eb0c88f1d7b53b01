#if os(Linux)
  import CHoldfastSystemd

  /// A value in a D-Bus message, of the types that this package's services and clients need.
  package indirect enum BusData: Sendable, Hashable {
    case boolean(Bool)
    case byte(UInt8)
    case short(Int16)
    case word(UInt16)
    case number(UInt32)
    case text(String)
    case path(String)
    case bytes([UInt8])
    case texts([String])
    /// The properties of an interface: `a{sv}`.
    case properties([String: BusData])
    /// The interfaces of an object: `a{sa{sv}}`.
    case interfaces([String: [String: BusData]])
    /// The objects of a service: `a{oa{sa{sv}}}`.
    case objects([String: [String: [String: BusData]]])
    case structure([BusData])
    /// A value together with its type, for a parameter of any type. A value that was read never has
    /// this case.
    case variant(BusData)
    /// An array whose elements have another type, with the signature of that type.
    case list([BusData], of: String)
    /// A value of an unsupported type. The value was skipped.
    case other

    /// The D-Bus type of the value (D-Bus Specification, Type System).
    package var signature: String {
      switch self {
      case .boolean: "b"
      case .byte: "y"
      case .short: "n"
      case .word: "q"
      case .number: "u"
      case .text, .other: "s"
      case .path: "o"
      case .bytes: "ay"
      case .texts: "as"
      case .properties: "a{sv}"
      case .interfaces: "a{sa{sv}}"
      case .objects: "a{oa{sa{sv}}}"
      case .structure(let parts): "(" + parts.map(\.signature).joined() + ")"
      case .variant: "v"
      case .list(_, let type): "a" + type
      }
    }

    /// The text of a `text` or `path` value.
    package var text: String? {
      switch self {
      case .text(let text), .path(let text): text
      case .boolean, .byte, .short, .word, .number, .bytes, .texts, .properties, .interfaces,
        .objects, .structure, .variant, .list, .other:
        nil
      }
    }

    package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    package var word: UInt16? { if case .word(let value) = self { value } else { nil } }
    package var texts: [String]? { if case .texts(let value) = self { value } else { nil } }
    package var properties: [String: BusData]? {
      if case .properties(let value) = self { value } else { nil }
    }
    package var interfaces: [String: [String: BusData]]? {
      if case .interfaces(let value) = self { value } else { nil }
    }
    package var objects: [String: [String: [String: BusData]]]? {
      if case .objects(let value) = self { value } else { nil }
    }
  }

  /// A writer of values into an sd-bus message.
  @safe struct BusWriter {
    let message: OpaquePointer?

    func append(_ value: BusData) throws(BusFailure) {
      switch value {
      case .boolean(let isTrue): try basic("b", Int32(isTrue ? 1 : 0))
      case .byte(let byte): try basic("y", byte)
      case .short(let number): try basic("n", number)
      case .word(let number): try basic("q", number)
      case .number(let number): try basic("u", number)
      case .text(let text): try append(text, "s")
      case .path(let path): try append(path, "o")
      case .other: try append("", "s")
      case .bytes(let bytes):
        try container("a", "y", bytes) { (byte) throws(BusFailure) in try basic("y", byte) }
      case .texts(let texts):
        try container("a", "s", texts) { (text) throws(BusFailure) in try append(text, "s") }
      case .properties(let properties): try append(properties)
      case .interfaces(let interfaces): try append(interfaces)
      case .objects(let objects):
        try entries(objects, "o", "a{sa{sv}}") { (part) throws(BusFailure) in try append(part) }
      case .structure(let parts):
        try open("r", parts.map(\.signature).joined())
        for part in parts { try append(part) }
        try close()
      case .variant(let value): try append(inVariant: value)
      case .list(let values, let type):
        try container("a", type, values) { (value) throws(BusFailure) in try append(value) }
      }
    }

    private func append(_ interfaces: [String: [String: BusData]]) throws(BusFailure) {
      try entries(interfaces, "s", "a{sv}") { (part) throws(BusFailure) in try append(part) }
    }

    private func append(_ properties: [String: BusData]) throws(BusFailure) {
      try entries(properties, "s", "v") { (value) throws(BusFailure) in
        try append(inVariant: value)
      }
    }

    private func append(inVariant value: BusData) throws(BusFailure) {
      try open("v", value.signature)
      try append(value)
      try close()
    }

    private func entries<Value>(
      _ values: [String: Value], _ key: Unicode.Scalar, _ type: String,
      _ write: (Value) throws(BusFailure) -> Void
    ) throws(BusFailure) {
      let entry = "\(key)\(type)"
      try container("a", "{\(entry)}", values.sorted { $0.key < $1.key }) {
        (pair) throws(BusFailure) in
        try open("e", entry)
        try append(pair.key, key)
        try write(pair.value)
        try close()
      }
    }

    private func container<Value>(
      _ kind: Unicode.Scalar, _ type: String, _ values: [Value],
      _ write: (Value) throws(BusFailure) -> Void
    ) throws(BusFailure) {
      try open(kind, type)
      for value in values { try write(value) }
      try close()
    }

    private func append(_ text: String, _ kind: Unicode.Scalar) throws(BusFailure) {
      // A D-Bus string must not contain a zero byte.
      let result = unsafe text.replacing("\0", with: " ").withCString {
        unsafe sd_bus_message_append_basic(message, BusCode.of(kind), $0)
      }
      try BusFailure.check(result, "append")
    }

    private func basic<Value: BitwiseCopyable>(_ kind: Unicode.Scalar, _ value: Value)
      throws(BusFailure)
    {
      var value = value
      try BusFailure.check(
        unsafe sd_bus_message_append_basic(message, BusCode.of(kind), &value), "append")
    }

    private func open(_ kind: Unicode.Scalar, _ content: String) throws(BusFailure) {
      try BusFailure.check(
        unsafe sd_bus_message_open_container(message, BusCode.of(kind), content), "open")
    }

    private func close() throws(BusFailure) {
      try BusFailure.check(unsafe sd_bus_message_close_container(message), "close")
    }
  }

  /// The codes of D-Bus types, as C characters.
  enum BusCode {
    static func of(_ type: Unicode.Scalar) -> CChar {
      CChar(bitPattern: UInt8(truncatingIfNeeded: type.value))
    }
  }
#endif
