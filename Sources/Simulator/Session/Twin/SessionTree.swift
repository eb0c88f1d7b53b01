import LinkJSON

/// A JSON text as a tree that can be read, changed and written again.
indirect enum SessionTree: Sendable, Hashable {
  case object([SessionBranch])
  case list([SessionTree])
  case text(String)
  /// A number as it stands there.
  case number(String)
  case flag(Bool)
  case null

  /// Reads a text; `nil` if it is no JSON.
  init?(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      self = try Self.read(&reader, bytes)
      try reader.finish()
    } catch {
      return nil
    }
  }

  private static func read(
    _ reader: inout JSONReader, _ bytes: [UInt8]
  ) throws(JSONError) -> SessionTree {
    switch try reader.peek() {
    case .object:
      var members: [SessionBranch] = []
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let name = reader.text(of: key)
        members.append(SessionBranch(name: name, value: try read(&reader, bytes)))
      }
      return .object(members)
    case .array:
      var all: [SessionTree] = []
      try reader.beginArray()
      while try reader.nextElement() { all.append(try read(&reader, bytes)) }
      return .list(all)
    case .string: return .text(try reader.string())
    case .number:
      let start = reader.position
      try reader.skipValue()
      return .number(String(decoding: bytes[start..<reader.position], as: UTF8.self))
    case .bool: return .flag(try reader.bool())
    case .null:
      try reader.null()
      return .null
    }
  }

  /// The tree as JSON text.
  var json: String {
    switch self {
    case .object(let members):
      let all = members.map { "\(SyncScribe.quoted($0.name)):\($0.value.json)" }
      return "{\(all.joined(separator: ","))}"
    case .list(let all): return "[\(all.map(\.json).joined(separator: ","))]"
    case .text(let text): return SyncScribe.quoted(text)
    case .number(let digits): return digits
    case .flag(let flag): return flag ? "true" : "false"
    case .null: return "null"
    }
  }
}

/// A member of an object.
struct SessionBranch: Sendable, Hashable {
  var name: String
  var value: SessionTree
}

/// The members of an object, as documents say how to read them.
struct SessionMembers {
  /// What cannot be read, by the member at fault.
  struct Fault: Error, Hashable {
    var field: String?
  }

  private var all: [String: SessionTree] = [:]

  /// - Parameter tree: What should be an object; `nil` for what is no JSON.
  init(_ tree: SessionTree?) throws(Fault) {
    guard case .object(let members)? = tree else { throw Fault(field: nil) }
    for member in members { all[member.name] = member.value }
  }

  /// The value of a member; `nil` if it is absent or null.
  subscript(name: String) -> SessionTree? { all[name] == .null ? nil : all[name] }

  func text(_ name: String, upTo longest: Int = .max) throws(Fault) -> String? {
    guard let value = self[name] else { return nil }
    guard case .text(let text) = value, text.utf8.count <= longest else {
      throw Fault(field: name)
    }
    return text
  }

  func note(_ name: String) throws(Fault) -> String? { try text(name, upTo: 4_096) }

  /// An id of at most 128 bytes; an empty one is none.
  func id(_ name: String) throws(Fault) -> String? {
    let text = try text(name, upTo: 128)
    return text == "" ? nil : text
  }

  func mustID(_ name: String) throws(Fault) -> String { try must(id(name), name) }

  func flag(_ name: String) throws(Fault) -> Bool? {
    guard let value = self[name] else { return nil }
    guard case .flag(let flag) = value else { throw Fault(field: name) }
    return flag
  }

  func number(
    _ name: String, _ range: ClosedRange<UInt64> = 0...9_007_199_254_740_991
  ) throws(Fault) -> UInt64? {
    guard let value = self[name] else { return nil }
    // Digits alone: no end of a session writes a whole number with a point or an exponent.
    guard case .number(let digits) = value, let found = UInt64(digits), range.contains(found)
    else { throw Fault(field: name) }
    return found
  }

  func mustNumber(
    _ name: String, _ range: ClosedRange<UInt64> = 0...9_007_199_254_740_991
  ) throws(Fault) -> UInt64 {
    try must(number(name, range), name)
  }

  func list(_ name: String, upTo most: Int) throws(Fault) -> [SessionTree] {
    guard let value = self[name] else { return [] }
    guard case .list(let all) = value, all.count <= most else { throw Fault(field: name) }
    return all
  }

  func object(_ name: String) throws(Fault) -> SessionMembers {
    let tree = try must(self[name], name)
    do { return try SessionMembers(tree) } catch { throw Fault(field: name) }
  }

  func must<Value>(_ value: Value?, _ name: String) throws(Fault) -> Value {
    guard let value else { throw Fault(field: name) }
    return value
  }
}
