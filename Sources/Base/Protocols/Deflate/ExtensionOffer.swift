/// An element of `Sec-WebSocket-Extensions` (RFC 6455 section 9.1).
struct ExtensionOffer: Equatable {
  var name: String
  var parameters: [Parameter]

  struct Parameter: Equatable {
    var name: String
    var value: String?
  }

  /// Parses the elements of a field value. Returns `nil` if it violates the grammar.
  static func list(_ value: String) -> [ExtensionOffer]? {
    var scanner = Scanner(bytes: Array(value.utf8))
    var found: [ExtensionOffer] = []
    while true {
      scanner.skipBlanks()
      if scanner.atEnd { return found.isEmpty ? nil : found }
      // Empty list elements must be ignored (RFC 9110 section 5.6.1.2).
      if scanner.take(0x2C) { continue }
      guard let element = scanner.element() else { return nil }
      found.append(element)
      guard scanner.atEnd || scanner.take(0x2C) else { return nil }
    }
  }

  private struct Scanner {
    var bytes: [UInt8]
    var index = 0

    var atEnd: Bool { index == bytes.count }

    mutating func skipBlanks() {
      while index < bytes.count, Text.isBlank(bytes[index]) { index += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
      guard index < bytes.count, bytes[index] == byte else { return false }
      index += 1
      return true
    }

    mutating func token() -> String? {
      let start = index
      while index < bytes.count, Text.isToken(bytes[index]) { index += 1 }
      return start == index ? nil : String(decoding: bytes[start..<index], as: UTF8.self)
    }

    mutating func element() -> ExtensionOffer? {
      guard let name = token() else { return nil }
      var element = ExtensionOffer(name: name, parameters: [])
      skipBlanks()
      while take(0x3B) {
        skipBlanks()
        guard let name = token() else { return nil }
        skipBlanks()
        var value: String?
        if take(0x3D) {
          skipBlanks()
          guard let found = take(0x22) ? quoted() : token() else { return nil }
          value = found
          skipBlanks()
        }
        element.parameters.append(Parameter(name: name, value: value))
      }
      return element
    }

    /// Parses a quoted value, whose content must be a token (RFC 6455 section 9.1).
    mutating func quoted() -> String? {
      var content: [UInt8] = []
      while index < bytes.count, bytes[index] != 0x22 {
        if bytes[index] == 0x5C { index += 1 }
        guard index < bytes.count else { return nil }
        content.append(bytes[index])
        index += 1
      }
      guard take(0x22), Text.isToken(content) else { return nil }
      return String(decoding: content, as: UTF8.self)
    }
  }
}
