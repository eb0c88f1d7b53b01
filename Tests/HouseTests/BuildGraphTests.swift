import Testing

/// What apps and tests compile: the modules that the manifest leads to.
@Suite struct BuildGraphTests {
  @Test func `an app with a held socket compiles no other feature`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    #expect(graph.products["HeldSocket"] == ["HoldfastSocket"])
    let closure = graph.closure(of: ["HoldfastSocket"])
    #expect(closure.isSuperset(of: ["LinkDriver", "HeldSocket", "CurlNetwork", "CCurl"]))
    #expect(Rules.excess(of: "HeldSocket", besides: Rules.besidesSocket, in: graph) == [])
    #expect(Rules.besidesSocket.isSubset(of: graph.uses.keys))
  }

  @Test func `only what plays the simulator builds it`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    #expect(graph.users(of: "LinkSimulator").contains("HoldfastSimulator"))
    #expect(Rules.simulatorUsers(in: graph) == [])
  }

  @Test func `reads the targets, edges and products of a manifest`() {
    let graph = BuildGraph(Self.manifest(edge: "Log"))
    #expect(
      graph.uses == [
        "Core": [], "Log": ["Core"], "Health": ["Core"], "Curl": [],
        "Socket": ["Core", "Log", "Curl"], "Program": ["Socket", "Health"],
        "LinkSimulator": ["Core"], "CoreTests": ["Core", "LinkSimulator"],
      ])
    #expect(graph.products == ["Held": ["Socket"], "program": ["Program"]])
    #expect(
      graph.closure(of: ["Program"]) == ["Program", "Socket", "Health", "Core", "Log", "Curl"])
    #expect(graph.users(of: "Log") == ["Socket", "Program"])
  }

  @Test func `finds a module that a product must not build`() {
    func excess(_ edge: String) -> [String] {
      Rules.excess(of: "Held", besides: ["Health"], in: BuildGraph(Self.manifest(edge: edge)))
    }
    #expect(excess("Log") == [])
    #expect(excess("Health") == ["Health"])
  }

  @Test func `finds a target that builds the simulator`() {
    #expect(Rules.simulatorUsers(in: BuildGraph(Self.manifest(edge: "Log"))) == ["CoreTests"])
    #expect(
      Rules.simulatorUsers(in: BuildGraph(Self.manifest(edge: "LinkSimulator")))
        == ["CoreTests", "Program", "Socket"])
  }

  /// A manifest in the form of ours, with one edge of the socket's module as asked for.
  private static func manifest(edge: String) -> SourceFile {
    SourceFile(
      path: "Package.swift",
      text: """
        func library(_ name: String, at path: String, uses: [Target.Dependency] = []) -> Target {
          .target(name: name, dependencies: uses, path: "Sources/\\(path)")
        }
        let targets = [
          library("Core", at: "Core"), played("Log", at: "Log", uses: ["Core"]),
          // library("Old", at: "Old", uses: ["Health"]),
          library("Health", at: "Health", uses: ["Core"]), system("Curl", apt: "curl"),
          library(
            "Socket", at: "Socket",
            uses: ["Core", "\(edge)"] + onLinux("Curl"), resources: [.copy("Health")]),
          .executableTarget(
            name: "Program", dependencies: ["Socket", "Health"], path: "Program"),
          played("LinkSimulator", at: "Simulator", uses: ["Core"]),
          tests("CoreTests", uses: ["Core", "LinkSimulator"], besides: ["Kept"]),
        ]
        let products = [
          .library(name: "Held", targets: ["Socket"]),
          .executable(name: "program", targets: ["Program"]),
        ]
        """)
  }
}
