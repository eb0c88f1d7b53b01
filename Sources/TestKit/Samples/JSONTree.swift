import Foundation
package import HoldfastCore

/// A JSON value that is decoded by Foundation, whose parser shares no code with this package.
package enum JSONTree: Hashable, Decodable, Sendable {
  case object([String: JSONTree])
  case array([JSONTree])
  case string(String)
  case int(Int64)
  case double(Double)
  case bool(Bool)
  case null

  /// Decodes a complete text.
  ///
  /// - Throws: An error if Foundation does not accept the text as JSON.
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

  /// The members of an object; empty for other values.
  package var members: [String: JSONTree] {
    if case .object(let members) = self { members } else { [:] }
  }

  /// The name of the value's kind. Values of one kind differ only in their content.
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
  /// The keys of objects whose members may have any name.
  private static let open: Set<String> = [
    "metadata", "health_data", "summary_data", "health_types",
  ]
  private static let unknown = ["odd", "Type", "ID", "", "\u{E9}"]

  /// Returns the value as JSON text in another spelling.
  ///
  /// The members are in another order, and the text may contain white space, escapes, and whole
  /// numbers with a fraction or an exponent.
  ///
  /// - Parameter isExtended: Whether members are added that no reader knows.
  package func spelled(by generator: inout RandomSource, isExtended: Bool, name: String = "")
    -> String
  {
    switch self {
    case .object(let members):
      var all = members.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
      while isExtended, !Self.open.contains(name), generator.flag() {
        let more: JSONTree = generator.one([
          .null, .array([.object([:])]), .double(1e30), .bool(true),
        ])
        all.append((generator.one(Self.unknown), more))
      }
      return Self.list("{}", all.shuffled(using: &generator), by: &generator) { member, generator in
        let value = member.value.spelled(by: &generator, isExtended: isExtended, name: member.name)
        let space = Self.space(by: &generator)
        return Self.quoted(member.name, by: &generator) + space + ":" + value
      }
    case .array(let elements):
      return Self.list("[]", elements, by: &generator) { element, generator in
        element.spelled(by: &generator, isExtended: isExtended)
      }
    case .string(let text): return Self.quoted(text, by: &generator)
    case .int(let number): return "\(number)" + generator.one(["", "", ".0", "e0", ".00E+0"])
    case .double(let number): return "\(number)"
    case .bool(let flag): return "\(flag)"
    case .null: return "null"
    }
  }

  private static func list<Element>(
    _ brackets: String, _ elements: [Element], by generator: inout RandomSource,
    _ text: (Element, inout RandomSource) -> String
  ) -> String {
    let all = elements.map { element in
      space(by: &generator) + text(element, &generator) + space(by: &generator)
    }
    return "\(brackets.prefix(1))\(all.joined(separator: ","))\(brackets.suffix(1))"
  }

  private static func space(by generator: inout RandomSource) -> String {
    generator.one(["", "", " ", "\n", "\r\n\t"])
  }

  private static func quoted(_ text: String, by generator: inout RandomSource) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      let mustBeEscaped = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
      if mustBeEscaped || Int.random(in: 0..<6, using: &generator) == 0 {
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
