import Testing

/// The rule about wildcards finds what it is there for, and nothing else.
@Suite struct SwitchTests {
  private static let enums = Rules.enums(in: [
    SourceFile(
      path: "Sources/A.swift",
      text: """
        enum Fruit: String {
          case apple, pear(ripe: Bool)
          case `default` = "x"
          static func taste() { if case .apple = a { } }
        }
        enum Size { case small; case large }
        """)
  ])

  private func breaches(_ text: String) -> [Int] {
    Rules.wildcards(SourceFile(path: "Sources/B.swift", text: text), enums: Self.enums).map(\.line)
  }

  @Test func `finds the cases of the enums`() {
    #expect(Self.enums == [["apple", "pear", "default"], ["small", "large"]])
  }

  @Test(arguments: [
    "case _: 2", "default: 2", "case let other: 2", "case .pear, _: 2", "case (_): 2",
  ])
  func `finds`(wildcard: String) {
    #expect(breaches("switch a {\ncase .apple: 1\n\(wildcard)\n}\n") == [3])
    #expect(breaches("switch a {\ncase Fruit.apple: 1\n\(wildcard)\n}\n") == [3])
  }

  @Test(arguments: [
    "case 1, 2: 1\ncase _: 2", "case \"a\": 1\ncase _: 2", "case .fileNoSuchFile: 1\ncase _: 2",
    "case .apple: 1\ncase .pear: 2\ncase .default: 3",
    "case .apple where b: 1\ncase 0...9: 1\ncase _: 2",
    "case .apple: 1\ncase _ where b == c: 2\ncase .pear: 3", "case .apple: 1\n@unknown default: 2",
    "case .apple: if case .pear = b, case .large = c { }\ncase .pear: a[b, default: 0]",
    "case .apple: 1\ncase _: 2  // open set: these are names of files",
    "case .apple(let one), .pear(let one): one\ncase .default: 2", "case nil: 1\ncase let x?: 2",
  ])
  func `allows`(cases: String) {
    #expect(breaches("switch a {\n\(cases)\n}\n") == [])
  }

  @Test func `in a tuple another place may name all cases`() {
    let whole = "case (.small, .apple): 1\ncase (.small, _): 2\ncase (.large, _): 3"
    #expect(breaches("switch (a, b) {\n\(whole)\n}\n") == [])
    let open = "case (.small, .apple): 1\ncase (.small, _): 2\ncase (_, _): 3"
    #expect(breaches("switch (a, b) {\n\(open)\n}\n") == [3, 4])
    #expect(breaches("switch (a, b) {\ncase (.small, .large): 1\ncase _: 2\n}\n") == [3])
  }

  @Test func `a switch within a case is another switch`() {
    let inner = "switch b {\n  case .small: 1\n  case _: 2\n  }"
    #expect(breaches("switch a {\ncase 1:\n  \(inner)\ncase _: 2\n}\n") == [5])
  }

  @Test func `a shared room that names a feature is found, a list and a feature's folder are not`()
  {
    func named(_ text: String, at path: String) -> [Int] {
      Rules.featuresNamed(SourceFile(path: path, text: text)).map(\.line)
    }
    let text = "let a: RelayModel\nlet b = Relayed(\"Shop\")  // ShopID\nimport HeldSocket\n"
    #expect(named(text, at: "Sources/Runtime/A.swift") == [1, 3])
    #expect(named(text, at: "Sources/Wire/Relay/A.swift") == [])
    #expect(named(text, at: Rules.lists[0]) == [])
    #expect(named(text, at: "Tests/A.swift") == [])
  }
}
