import LinkHealth

/// The tools of a server and their schemas, told a second time (JSON Schema draft 2020-12).
///
/// Titles and descriptions are a star here: that there is one is told, not what it says.
enum MCPWireTools {
  /// The members of an object; a name that ends in `!` must be there.
  private typealias Members = [(String, SessionTree)]

  /// The tools of `tools/list`.
  static let all = tools.map { tool in
    RelayWireScribe.object([
      ("name", .text(tool.name)), ("title", star), ("description", star),
      ("inputSchema", tool.input), ("outputSchema", tool.output),
      (
        "annotations",
        RelayWireScribe.object([
          ("readOnlyHint", .flag(tool.name.hasPrefix("get_"))), ("destructiveHint", .flag(false)),
          ("openWorldHint", .flag(false)),
        ])
      ),
    ])
  }

  /// The original's list.
  static let plain = RelayWireScribe.object([
    ("metadata", RelayWireScribe.object([("description", star)])),
    (
      "tools",
      .list(
        tools.map { tool in
          RelayWireScribe.object([
            ("name", .text(tool.name)), ("summary", star), ("description", star),
            ("inputSchema", tool.input), ("outputSchema", tool.output),
          ])
        })
    ),
  ])

  /// A tree whose texts for people are stars.
  static func bare(_ tree: SessionTree) -> SessionTree {
    switch tree {
    case .object(let members):
      return .object(
        members.map { member in
          var bare = member
          bare.value = self.bare(member.value)
          let isForPeople = ["title", "description", "summary"].contains(member.name)
          if isForPeople, case .text(let text) = member.value, text.utf8.count > 5 {
            bare.value = star
          }
          return bare
        })
    case .list(let all): return .list(all.map { bare($0) })
    case .text, .number, .flag, .null: return tree
    }
  }

  // Schemas.

  private static let star = SessionTree.text("*")

  private static func typed(_ type: String, _ rest: [RelayWireScribe.Member] = []) -> SessionTree {
    RelayWireScribe.object([("type", .text(type))] + rest)
  }

  private static let plainText = typed("string")
  private static let text = typed("string", [("description", star)])
  private static let number = typed("number")
  private static let count = typed("integer")
  private static let flag = typed("boolean")

  private static func orNull(_ schema: SessionTree) -> SessionTree {
    RelayWireScribe.object([("anyOf", .list([schema, typed("null")]))])
  }

  private static func list(_ schema: SessionTree) -> SessionTree {
    typed("array", [("items", schema)])
  }

  private static func word(_ all: [String]) -> SessionTree {
    typed("string", [("description", star), ("enum", .list(all.map { .text($0) }))])
  }

  private static func object(_ members: Members, isOpen: Bool = false) -> SessionTree {
    func bare(_ name: String) -> String { name.hasSuffix("!") ? String(name.dropLast()) : name }
    let required = members.map(\.0).filter { $0.hasSuffix("!") }
    return typed(
      "object",
      [
        ("properties", RelayWireScribe.object(members.map { (bare($0.0), $0.1) })),
        ("required", required.isEmpty ? nil : .list(required.map { .text(bare($0)) })),
        ("additionalProperties", isOpen ? nil : .flag(false)),
      ])
  }

  // Arguments and results.

  private static let span: Members = [("start_time!", text), ("end_time!", text)]
  private static let manner: Members = [
    ("value_type!", word(HealthValueType.allCases.map(\.rawValue))),
    ("group_by", word(HealthGrouping.allCases.map(\.rawValue))),
    ("statistic", word(HealthStatistic.allCases.map(\.rawValue))),
  ]
  private static let end: Members = [
    (
      "max_bytes",
      typed(
        "integer",
        [
          ("description", star), ("minimum", .number("2000")), ("maximum", .number("8388608")),
        ])
    ), ("access_token", text),
  ]
  private static let refusal: Members = [("success!", flag), ("error", text), ("message", text)]
  private static let freshness: Members = [
    ("time_zone", text), ("answered_at", text), ("last_import", orNull(text)),
    ("clock_difference_seconds", number), ("clock_warning", text),
  ]

  private static let point = object(
    [
      ("type!", plainText), ("value!", RelayWireScribe.object([("description", star)])),
      ("unit", orNull(plainText)), ("date_from!", plainText), ("date_to!", plainText),
      ("source_id", orNull(text)), ("statistic", text), ("merged", flag), ("partial", flag),
      ("sleep", object([], isOpen: true)),
    ], isOpen: true)

  private static func points(_ name: String) -> Members {
    let last = object([("type!", plainText), ("at", orNull(plainText))], isOpen: true)
    let head: Members = [
      (name, list(point)), ("count", count), ("value_type", plainText), ("start_time", plainText),
      ("end_time", plainText), ("group_by", orNull(plainText)), ("is_aggregated", flag),
      ("statistic_type", orNull(plainText)), ("truncated", flag),
      ("next_start_time", orNull(text)), ("notes", list(plainText)),
    ]
    return head + freshness + [("last_samples", list(last))]
  }

  private static let line = object(
    [
      ("value_type!", plainText), ("success!", flag),
      ("data", object(points("health_data"), isOpen: true)), ("error_message", orNull(plainText)),
    ], isOpen: true)

  private static let tools: [(name: String, input: SessionTree, output: SessionTree)] = [
    (
      "direct_login", object([("word!", text), ("code!", text)]),
      object(
        refusal + [
          ("access_token", text), ("token_type", text), ("expires_in", count),
          ("user_id", plainText),
        ])
    ),
    (
      "get_health_metrics", object([manner[0]] + span + manner[1...] + end),
      object(refusal + [("error_message", text)] + points("healthData"), isOpen: true)
    ),
    (
      "get_summary", object(span + [("metrics", list(object(manner)))] + end),
      object(
        refusal + [
          ("error_message", orNull(text)), ("start_time", plainText), ("end_time", plainText),
          ("results", list(line)),
        ] + freshness, isOpen: true)
    ),
    ("logout", object([end[1]]), object(refusal)),
  ]
}
