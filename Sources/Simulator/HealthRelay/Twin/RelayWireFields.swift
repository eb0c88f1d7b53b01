import LinkJSON

/// The members of an object as the relay reads them, told a second time.
///
/// Those before a fault can be read; of repeated ones the last counts, and `null` is left out.
struct RelayWireFields {
  private var members: [(name: String, bytes: [UInt8])] = []
  private(set) var fault: FieldFault?

  init(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let name = reader.text(of: key)
        members.append((name, try Self.take(&reader, bytes)))
      }
      try reader.finish()
    } catch {
      fault = .malformed(detail: "\(error.detail) at byte \(error.offset)")
    }
  }

  /// Takes a value as it stands there.
  static func take(_ reader: inout JSONReader, _ bytes: [UInt8]) throws(JSONError) -> [UInt8] {
    _ = try reader.peek()
    let start = reader.position
    try reader.skipValue()
    return Array(bytes[start..<reader.position])
  }

  /// The elements of a list, each as it stands there.
  static func elements(_ bytes: [UInt8]) throws(JSONError) -> [[UInt8]] {
    var reader = JSONReader(bytes)
    var all: [[UInt8]] = []
    try reader.beginArray()
    while try reader.nextElement() { all.append(try take(&reader, bytes)) }
    try reader.finish()
    return all
  }

  func check() throws(FieldFault) { if let fault { throw fault } }

  private func bytes(_ name: String) -> [UInt8]? { members.last { $0.name == name }?.bytes }

  private func value(_ name: String) -> SessionTree? {
    guard let tree = bytes(name).flatMap({ SessionTree($0) }) else { return nil }
    return tree == .null ? nil : tree
  }

  func has(_ name: String) -> Bool { value(name) != nil }

  func text(_ name: String) throws(FieldFault) -> String? {
    guard let value = value(name) else { return nil }
    guard case .text(let text) = value else { throw .wrongType(field: name) }
    return text
  }

  /// A text that must be there, and is not empty.
  func word(_ name: String, upTo most: Int) throws(FieldFault) -> String {
    guard let text = try text(name), text != "" else { throw .missing(field: name) }
    if text.utf8.count > most { throw .outOfBounds(field: name) }
    return text
  }

  func flag(_ name: String) throws(FieldFault) -> Bool? {
    guard let value = value(name) else { return nil }
    guard case .flag(let flag) = value else { throw .wrongType(field: name) }
    return flag
  }

  func number(_ name: String, from least: Int, to most: Int) throws(FieldFault) -> Int? {
    guard let value = value(name) else { return nil }
    guard case .number(let digits) = value, let number = Int(digits) else {
      throw .wrongType(field: name)
    }
    if number < least || number > most { throw .outOfBounds(field: name) }
    return number
  }

  func mustNumber(_ name: String, from least: Int, to most: Int) throws(FieldFault) -> Int {
    guard let number = try number(name, from: least, to: most) else { throw .missing(field: name) }
    return number
  }

  func object(_ name: String) throws(FieldFault) -> [UInt8] {
    guard let value = value(name), let bytes = bytes(name) else { throw .missing(field: name) }
    guard case .object = value else { throw .wrongType(field: name) }
    return bytes
  }

  func list(_ name: String, upTo most: Int) throws(FieldFault) -> [[UInt8]] {
    guard let value = value(name), let bytes = bytes(name) else { return [] }
    guard case .list(let all) = value else { throw .wrongType(field: name) }
    if all.count > most { throw .outOfBounds(field: name) }
    return (try? Self.elements(bytes)) ?? []
  }
}
