import HoldfastJSON

/// The part of JSON Schema (draft 2020-12) that describes the tools' arguments and results.
indirect enum MCPSchema {
  case text(String)
  /// A string that is one of these names.
  case oneOf([String], String)
  case number
  case count
  case countBetween(Int, Int, String)
  case truth
  /// `true` or `false`, with a description.
  case flag(String)
  /// A schema with a description.
  case described(MCPSchema, String)
  case list(of: MCPSchema)
  case object([Member], isOpen: Bool = false)
  case orNull(MCPSchema)
  /// Any value.
  case any(String)

  struct Member {
    var name: String
    var schema: MCPSchema
    var isRequired: Bool

    static func required(_ name: String, _ schema: MCPSchema) -> Member {
      Member(name: name, schema: schema, isRequired: true)
    }

    static func optional(_ name: String, _ schema: MCPSchema) -> Member {
      Member(name: name, schema: schema, isRequired: false)
    }

    /// Returns the member with another description, if it has one.
    func described(_ description: String) -> Member {
      var member = self
      member.schema =
        switch schema {
        case .described(let inner, _): .described(inner, description)
        case .flag: .flag(description)
        case .oneOf(let names, _): .oneOf(names, description)
        case .text: .text(description)
        case .countBetween(let least, let most, _): .countBetween(least, most, description)
        case .number, .count, .truth, .list, .object, .orNull, .any: schema
        }
      return member
    }
  }

  /// Writes the schema as one JSON object.
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writeKeywords(to: &writer)
    writer.endObject()
  }

  private func writeKeywords(to writer: inout JSONWriter) {
    switch self {
    case .text(let description): Self.write("string", description, to: &writer)
    case .oneOf(let allowed, let description):
      Self.write("string", description, to: &writer)
      writer.key("enum")
      writer.beginArray()
      for name in allowed { writer.string(name) }
      writer.endArray()
    case .number: writer.entry("type", "number")
    case .count: writer.entry("type", "integer")
    case .countBetween(let least, let most, let description):
      Self.write("integer", description, to: &writer)
      writer.entry("minimum", least)
      writer.entry("maximum", most)
    case .truth: writer.entry("type", "boolean")
    case .flag(let description): Self.write("boolean", description, to: &writer)
    case .described(let schema, let description):
      schema.writeKeywords(to: &writer)
      writer.entry("description", description)
    case .list(let element):
      writer.entry("type", "array")
      writer.key("items")
      element.write(to: &writer)
    case .object(let members, let isOpen):
      Self.write(members, isOpen: isOpen, to: &writer)
    case .orNull(let schema):
      writer.key("anyOf")
      writer.beginArray()
      schema.write(to: &writer)
      writer.beginObject()
      writer.entry("type", "null")
      writer.endObject()
      writer.endArray()
    case .any(let description): writer.entry("description", description)
    }
  }

  private static func write(_ type: String, _ description: String, to writer: inout JSONWriter) {
    writer.entry("type", type)
    if !description.isEmpty { writer.entry("description", description) }
  }

  private static func write(_ members: [Member], isOpen: Bool, to writer: inout JSONWriter) {
    writer.entry("type", "object")
    writer.key("properties")
    writer.beginObject()
    for member in members {
      writer.key(member.name)
      member.schema.write(to: &writer)
    }
    writer.endObject()
    let required = members.filter(\.isRequired)
    if !required.isEmpty {
      writer.key("required")
      writer.beginArray()
      for member in required { writer.string(member.name) }
      writer.endArray()
    }
    if !isOpen {
      writer.entry("additionalProperties", false)
    }
  }
}
