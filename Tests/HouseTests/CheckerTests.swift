import Testing

/// Each checker finds what it is there for: a check that cannot fail checks nothing.
@Suite struct CheckerTests {
  private func breaches(
    _ rule: (SourceFile) -> [Breach], _ text: String, at path: String = "Sources/Core/A.swift"
  ) -> [Int] {
    rule(SourceFile(path: path, text: text)).map(\.line).sorted()
  }

  @Test func `comments, strings and quoted names are not code, interpolations are`() {
    let text = """
      let a = "try!" // try!
      /* try! /* nested */ try! */ let b = #"try! \\(try!) " "#
      func `never try! it`() {}
      let c = "\\(try! d()) try!"
      """
    #expect(breaches(Rules.safety, text) == [4])
  }

  @Test func `a multi-line string ends at its own quotes`() {
    let text = "let a = \"\"\"\n  say \"try!\"\n  \"\"\"\nlet b = try! c()\n"
    #expect(breaches(Rules.safety, text) == [4])
  }

  @Test func `a raw string of quotes ends on its line`() {
    let text = "let a = [#\"\"\"\"#, #\"\"#]\nlet b = try! c()\n"
    #expect(breaches(Rules.safety, text) == [2])
  }

  @Test(arguments: Rules.impure.map(\.spelling))
  func `finds impurity`(spelling: String) {
    #expect(breaches(Rules.purity, "let a = 1\n \(spelling)\n") == [2])
    #expect(breaches(Rules.purity, spelling, at: "Sources/Runtime/A.swift") == [])
  }

  @Test func `finds an invariant that has the name of another one`() {
    let text = """
      check.require(a, "a part: it holds")
      check.require(
        b,
        "a part: it can")
      check.require(c == "a part: it holds", "a part: it can")
      check.require(d, "a part: it holds")
      """
    #expect(breaches({ Rules.repeatedInvariants([$0]) }, text) == [5, 6])
    let other = SourceFile(path: "Sources/B.swift", text: "check.require(e, \"a part: it can\")\n")
    #expect(breaches({ Rules.repeatedInvariants([other, $0]) }, text) == [4, 5, 6])
  }

  @Test func `a generator that is handed in is no impurity`() {
    #expect(breaches(Rules.purity, "a[b] += c(.random(using: &chance))\n") == [])
    #expect(breaches(Rules.purity, "a[b] += c(.random(in: d))\n") == [1])
  }

  @Test func `a longer word is another word`() {
    #expect(breaches(Rules.purity, "let a = UpDate(b), fingerprint(c), awaited\n") == [])
  }

  @Test(arguments: Rules.unsafe.map(\.spelling))
  func `finds what escapes the compiler`(spelling: String) {
    #expect(breaches(Rules.safety, "\n\(spelling) a\n") == [2])
  }

  @Test func `finds work left over in comments only`() {
    let text = "// " + "TODO: later\nlet a = \"TODO\"\n/// " + "FIXME\n"
    #expect(breaches(Rules.nothingLeftOver, text) == [1, 3])
  }

  @Test func `finds a foreign import in a pure folder`() {
    let text = "import Foundation\npublic import LinkCore\nimport struct Glibc.timespec\n"
    #expect(breaches({ Rules.pureImports($0) }, text) == [1, 2, 3])
    #expect(breaches({ Rules.pureImports($0) }, text, at: "Sources/Wire/A.swift") == [1, 3])
    #expect(
      breaches({ Rules.pureImports($0) }, "import LinkRuntime", at: "Sources/Features/A.swift")
        == [1])
    let czlib = "import CZlib"
    #expect(breaches({ Rules.pureImports($0) }, czlib, at: "Sources/Protocols/A.swift") == [])
    #expect(breaches({ Rules.pureImports($0) }, czlib, at: "Sources/Wire/A.swift") == [1])
  }

  @Test func `only the simulator may import features`() {
    let text = "import Chat\nimport LinkRuntime\n"
    let rule = { Rules.pureImports($0, features: ["Chat"]) }
    #expect(breaches(rule, text, at: "Sources/Simulator/A.swift") == [2])
    #expect(breaches(rule, text, at: "Sources/Features/Talk/A.swift") == [1, 2])
  }

  @Test func `finds the pure rooms of the manifest`() {
    let text = """
      let pure: [Target] = [
        library("A", at: "A"),
        library(
          "B", at: "Features/B", uses: ["A"]),
      ]
      let other = [library("C", at: "C")]
      """
    let rooms = Rules.pureRooms(in: SourceFile(path: "Package.swift", text: text))
    #expect(rooms == ["Sources/A", "Sources/Features/B"])
  }

  @Test func `finds a feature in an adapter`() {
    let manifest = SourceFile(
      path: "Package.swift",
      text: """
        library("Chat", at: "Features/Chat", uses: []),
        library(
          "Talk", at: "Features/Talk", uses: []),
        library("Core", at: "Core")
        """)
    let features = Rules.features(in: manifest)
    let adapter = SourceFile(path: "Sources/Adapters/A/A.swift", text: "import Chat\n")
    #expect(features == ["Chat", "Talk"])
    #expect(Rules.adapterImports(adapter, features: features).count == 1)
  }

  @Test(arguments: [(399, 0), (400, 0), (401, 1)])
  func `finds a long file`(lines: Int, found: Int) {
    let text = String(repeating: "\n", count: lines)
    #expect(breaches(Rules.fileLength, text).count == found)
  }

  @Test(arguments: [(39, 0), (40, 0), (41, 1)])
  func `finds a long function`(lines: Int, found: Int) {
    let body = String(repeating: "  a()\n", count: lines - 3)
    for head in ["func a(\n) -> B {", "init(\n) throws {", "public subscript(\n) -> A {"] {
      #expect(breaches(Rules.functionLength, "\(head)\n\(body)}\n").count == found)
    }
  }

  @Test func `a requirement has no body, and what follows is not taken for one`() {
    let rest = String(repeating: "  var b: Int { get }\n", count: 50)
    let text = "protocol P {\n  func a() -> Int\n\(rest)}\n"
    #expect(breaches(Rules.functionLength, text) == [])
  }

  @Test(arguments: [
    "try await Task.sleep(for: a)", "usleep(1)", "sleep(1)", "Thread.sleep(forTimeInterval: 1)",
  ])
  func `finds a sleeping test`(line: String) {
    #expect(breaches(Rules.noSleep, line, at: "Tests/A.swift") == [1])
    #expect(breaches(Rules.noSleep, line, at: "Sources/A.swift") == [])
  }

  @Test func `finds a test without a sentence`() {
    let text = "@Test func plain() {}\n@Test(.x)\nfunc `one`() {}\n@Test func `it holds`() {}\n"
    #expect(breaches(Rules.testNames, text) == [1, 3])
  }

  @Test func `one word in backticks is enough where arguments follow`() {
    #expect(breaches(Rules.testNames, "@Test(arguments: a)\nfunc `reads`(text: String) {}") == [])
    #expect(breaches(Rules.testNames, "@Test func `reads`() {}") == [1])
  }

  @Test func `what a documented protocol requires needs no words of its own`() {
    let port = SourceFile(
      path: "Sources/Runtime/A.swift",
      text: "public protocol A {\n  /// Said.\n  func b()\n  func c()\n}\nfunc d()\n")
    let adapter = SourceFile(
      path: "Sources/Adapters/A.swift", text: "public func b() {}\npublic func c() {}\n")
    #expect(Rules.requirements(port) == ["b"])
    #expect(Rules.publicDocs(adapter, inherited: ["b"]).map(\.line) == [2])
  }

  @Test func `finds what is public and undocumented`() {
    let text = """
      public struct A {
      /// Said.
      @inlinable
      public func b() {}
      public init() {}
      public static func == (a: A, b: A) -> Bool { true }
      public var c = 0
      """
    #expect(breaches({ Rules.publicDocs($0) }, text) == [1, 7])
  }

  @Test func `finds a page with no title or two`() {
    #expect(breaches(Rules.oneTitle, "text\n", at: "a.md") == [1])
    #expect(breaches(Rules.oneTitle, "# A\n```\n# sh\n```\n# B\n", at: "a.md") == [5])
    #expect(breaches(Rules.oneTitle, "# A\n## B\n", at: "a.md") == [])
  }

  @Test func `finds a link that leads nowhere`() {
    let text = "[a](b.md) [c](../d.md#e) [f](https://g.h) [i](#j)\n```\n[k](l)\n```\n"
    let page = SourceFile(path: "docs/sub/p.md", text: text)
    #expect(
      Rules.links(page, exists: { $0 == "docs/d.md" }).map(\.what) == ["`b.md` leads nowhere"])
  }

  @Test func `finds a room that is not on the map`() {
    let map = SourceFile(path: "ARCHITECTURE.md", text: "# A\nCore/ and CurlNetwork/\n")
    let missing = Rules.mapped(["Core", "Adapters/CurlNetwork", "Wire"], on: map)
    #expect(missing.map(\.what) == ["does not mention Wire"])
  }

  @Test func `finds a path of this machine`() {
    let path = Rules.workplaces[0] + "a"
    #expect(breaches(Rules.noWorkplace, "see \(path)\n", at: "a.md") == [1])
    #expect(breaches(Rules.noWorkplace, "see ~\(path) and https://a.b\(path)\n", at: "a.md") == [])
  }
}
