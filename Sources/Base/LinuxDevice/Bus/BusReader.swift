#if os(Linux)
  import CHoldfastSystemd
  import Glibc

  /// A reader of the values of an sd-bus message.
  @safe struct BusReader {
    let message: OpaquePointer?

    /// Returns all values of the message.
    func all() throws(BusFailure) -> [BusData] {
      var values: [BusData] = []
      while let value = try next() { values.append(value) }
      return values
    }

    /// Returns the next value in this container; `nil` at the end.
    func next() throws(BusFailure) -> BusData? {
      guard let (type, content) = try peek() else { return nil }
      switch type {
      case "b": return .boolean(try basic(type, Int32(0)) != 0)
      case "y": return .byte(try basic(type, UInt8(0)))
      case "n": return .short(try basic(type, Int16(0)))
      case "q": return .word(try basic(type, UInt16(0)))
      case "u": return .number(try basic(type, UInt32(0)))
      case "s": return .text(try text(type))
      case "o": return .path(try text(type))
      case "v":
        return try inside(type, content) { (reader) throws(BusFailure) in try reader.next() }
      case "a": return try array(content)
      case "r":
        return .structure(
          try inside(type, content) { (reader) throws(BusFailure) in try reader.all() })
      case _: return try skip()
      }
    }

    private func array(_ content: String) throws(BusFailure) -> BusData {
      switch content {
      case "y": return .bytes(try bytes())
      case "s", "o":
        return .texts(
          try inside("a", content) { (reader) throws(BusFailure) in
            try reader.all().compactMap(\.text)
          })
      case "{sv}": return .properties(try entries(content) { $0 })
      case "{sa{sv}}": return .interfaces(try entries(content) { $0.properties })
      case "{oa{sa{sv}}}": return .objects(try entries(content) { $0.interfaces })
      case _ where content.hasPrefix("("):
        return .list(
          try inside("a", content) { (reader) throws(BusFailure) in try reader.all() },
          of: content)
      case _: return try skip()
      }
    }

    /// Returns the entries of a dictionary with string keys.
    private func entries<Value>(
      _ content: String, _ value: (BusData) -> Value?
    ) throws(BusFailure) -> [String: Value] {
      let entry = String(content.dropFirst().dropLast())
      return try inside("a", content) { (reader) throws(BusFailure) in
        var found: [String: Value] = [:]
        while try reader.peek() != nil {
          let pair = try reader.inside("e", entry) { (reader) throws(BusFailure) in
            try reader.all()
          }
          if pair.count == 2, let key = pair[0].text, let value = value(pair[1]) {
            found[key] = value
          }
        }
        return found
      }
    }

    private func inside<Result>(
      _ type: Unicode.Scalar, _ content: String,
      _ read: (BusReader) throws(BusFailure) -> Result
    ) throws(BusFailure) -> Result {
      try BusFailure.check(
        unsafe sd_bus_message_enter_container(message, BusCode.of(type), content), "enter")
      let result = try read(self)
      try BusFailure.check(unsafe sd_bus_message_exit_container(message), "exit")
      return result
    }

    private func peek() throws(BusFailure) -> (Unicode.Scalar, String)? {
      var type: CChar = 0
      var content: UnsafePointer<CChar>?
      let found = unsafe sd_bus_message_peek_type(message, &type, &content)
      try BusFailure.check(found, "peek")
      guard found > 0 else { return nil }
      let text = unsafe content.map { unsafe String(cString: $0) } ?? ""
      return (Unicode.Scalar(UInt8(bitPattern: type)), text)
    }

    private func basic<Value: BitwiseCopyable>(
      _ type: Unicode.Scalar, _ zero: Value
    ) throws(BusFailure) -> Value {
      var value = zero
      try BusFailure.check(
        unsafe sd_bus_message_read_basic(message, BusCode.of(type), &value), "read")
      return value
    }

    private func text(_ type: Unicode.Scalar) throws(BusFailure) -> String {
      var found: UnsafePointer<CChar>?
      try BusFailure.check(
        unsafe sd_bus_message_read_basic(message, BusCode.of(type), &found), "read")
      return unsafe found.map { unsafe String(cString: $0) } ?? ""
    }

    private func bytes() throws(BusFailure) -> [UInt8] {
      var start: UnsafeRawPointer?
      var count = 0
      try BusFailure.check(
        unsafe sd_bus_message_read_array(message, BusCode.of("y"), &start, &count), "read")
      guard let start = unsafe start else { return [] }
      return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    private func skip() throws(BusFailure) -> BusData {
      try BusFailure.check(unsafe sd_bus_message_skip(message, nil), "skip")
      return .other
    }
  }
#endif
