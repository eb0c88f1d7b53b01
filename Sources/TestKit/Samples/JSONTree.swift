import Foundation
package import LinkCore

/// A JSON value as Foundation reads it, with a parser that shares no code with ours.
package enum JSONTree: Hashable, Decodable, Sendable {
  case object([String: JSONTree])
  case array([JSONTree])
  case string(String)
  case int(Int64)
  case double(Double)
  case bool(Bool)
  case null

  /// Reads a whole text; throws if Foundation takes it for no JSON.
  package init(_ bytes: [UInt8]) throws {
    self = try JSONDecoder().decode(JSONTree.self, from: Data(bytes))
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let members = try? container.decode([String: JSONTree].self) {
      self = .object(members)
    } else if let number = try? container.decode(Int64.self) {
      self = .int(number)
    } else if let flag = try? container.decode(Bool.self) {
      self = .bool(flag)
    } else if let elements = try? container.decode([JSONTree].self) {
      self = .array(elements)
    } else if container.decodeNil() {
      self = .null
    } else {
      self = .double(try container.decode(Double.self))
    }
  }

  /// The members of an object; none of another value.
  package var members: [String: JSONTree] {
    if case .object(let members) = self { members } else { [:] }
  }

  /// The name of its kind: values of one kind are told apart by their content alone.
  package var kind: String {
    switch self {
    case .object: "object"
    case .array: "array"
    case .string: "string"
    case .int, .double: "number"
    case .bool: "bool"
    case .null: "null"
    }
  }
}

extension JSONTree {
  /// Objects whose members mean something whatever their names are.
  private static let open: Set<String> = ["metadata", "health_data", "summary_data"]
  private static let unknown = ["odd", "Type", "ID", "", "\u{E9}"]

  /// Returns another text of the value: members in another order, white space, escapes, and whole
  /// numbers with a fraction or an exponent.
  ///
  /// - Parameter isExtended: Whether members that no reader knows are added.
  package func spelled(by chance: inout Chance, isExtended: Bool, name: String = "") -> String {
    switch self {
    case .object(let members):
      var all = members.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
      while isExtended, !Self.open.contains(name), chance.flag() {
        let more: JSONTree = chance.one([.null, .array([.object([:])]), .double(1e30), .bool(true)])
        all.append((chance.one(Self.unknown), more))
      }
      return Self.list("{}", all.shuffled(using: &chance), by: &chance) { member, chance in
        let value = member.value.spelled(by: &chance, isExtended: isExtended, name: member.name)
        let space = Self.space(by: &chance)
        return Self.quoted(member.name, by: &chance) + space + ":" + value
      }
    case .array(let elements):
      return Self.list("[]", elements, by: &chance) { element, chance in
        element.spelled(by: &chance, isExtended: isExtended)
      }
    case .string(let text): return Self.quoted(text, by: &chance)
    case .int(let number): return "\(number)" + chance.one(["", "", ".0", "e0", ".00E+0"])
    case .double(let number): return "\(number)"
    case .bool(let flag): return "\(flag)"
    case .null: return "null"
    }
  }

  private static func list<Element>(
    _ brackets: String, _ elements: [Element], by chance: inout Chance,
    _ text: (Element, inout Chance) -> String
  ) -> String {
    let all = elements.map { element in
      space(by: &chance) + text(element, &chance) + space(by: &chance)
    }
    return "\(brackets.prefix(1))\(all.joined(separator: ","))\(brackets.suffix(1))"
  }

  private static func space(by chance: inout Chance) -> String {
    chance.one(["", "", " ", "\n", "\r\n\t"])
  }

  private static func quoted(_ text: String, by chance: inout Chance) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      let mustBeEscaped = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
      if mustBeEscaped || Int.random(in: 0..<6, using: &chance) == 0 {
        for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
          quoted += "\\u\(String(UInt32(unit) + 0x10000, radix: 16).dropFirst())"
        }
      } else {
        quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
