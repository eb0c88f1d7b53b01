import LinkJSON

/// The parameters of a message as JSON text, read once its method is known.
package struct RPCParams: Sendable, Hashable, Codable {
  /// A whole JSON value whose grammar was checked.
  var bytes: [UInt8]

  /// No parameters.
  package init() {
    bytes = Array("{}".utf8)
  }

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  var isObject: Bool { bytes.first == UInt8(ascii: "{") }
}

extension JSONReader {
  /// Takes a value of any kind and answers its text.
  mutating func rawValue() throws(JSONError) -> [UInt8] {
    _ = try peek()
    let start = position
    try skipValue()
    return Array(bytes[start..<position])
  }

  /// Takes a value of any kind; `nil` unless it is a string.
  mutating func textIfString() throws(JSONError) -> String? {
    guard try peek() == .string else {
      try skipValue()
      return nil
    }
    return try string()
  }
}
