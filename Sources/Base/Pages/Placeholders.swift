/// Functions for placeholders, which are names in double braces, such as `{{title}}`.
///
/// A name begins with a lower-case letter and consists of letters, digits and underscores, all in
/// ASCII. Other text in braces is no placeholder, as in comments of scripts.
package enum Placeholders {
  /// A difference between the placeholders of a text and the values for them.
  package enum Fault: Error, Hashable, Sendable {
    /// The text has placeholders without a value.
    case missing(Set<String>)
    /// The text does not have these placeholders.
    case unknown(Set<String>)
  }

  /// Returns a text in UTF-8 with values in place of its placeholders.
  ///
  /// A placeholder may occur several times. Values are not searched for placeholders.
  package static func replaced(
    in text: [UInt8], with values: [String: String]
  ) throws(Fault) -> [UInt8] {
    var found: [UInt8] = []
    found.reserveCapacity(values.values.reduce(text.count) { $0 + $1.utf8.count })
    var (used, missing): (Set<String>, Set<String>) = ([], [])
    var rest = text[...]
    while let start = rest.firstIndex(of: brace.open) {
      found += rest[..<start]
      rest = rest[start...]
      guard let name = name(at: rest) else {
        found.append(brace.open)
        rest.removeFirst()
        continue
      }
      rest.removeFirst(name.utf8.count + 4)
      used.insert(name)
      if let value = values[name] { found += value.utf8 } else { missing.insert(name) }
    }
    guard missing.isEmpty else { throw .missing(missing) }
    let unknown = Set(values.keys).subtracting(used)
    guard unknown.isEmpty else { throw .unknown(unknown) }
    return found + rest
  }

  private static let brace = (open: UInt8(ascii: "{"), close: UInt8(ascii: "}"))

  /// Returns the name of the placeholder with which a text begins.
  private static func name(at text: ArraySlice<UInt8>) -> String? {
    guard text.dropFirst().first == brace.open else { return nil }
    let name = text.dropFirst(2).prefix(while: isPartOfName)
    guard let first = name.first, isLowerCase(first),
      text[name.endIndex...].starts(with: [brace.close, brace.close])
    else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  private static func isLowerCase(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }

  private static func isPartOfName(_ byte: UInt8) -> Bool {
    // An upper-case letter differs from the lower-case one in this bit.
    isLowerCase(byte | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || byte == UInt8(ascii: "_")
  }
}
