import Testing

/// Tests of which modules apps and tests compile.
@Suite struct BuildGraphTests {
  /// All targets of the `HoldfastSocket` product. None of them belongs to another feature.
  private static let socket: Set<String> = [
    "HoldfastSocket", "HoldfastHeldSocket", "HoldfastPorts", "HoldfastCore", "HoldfastDriver",
    "HoldfastJSON", "HoldfastProtocols",
    "HoldfastSocketEngine", "HoldfastCurlNetwork", "HoldfastLinuxEvents", "HoldfastOwnerFiles",
    "HoldfastNetlink", "HoldfastAppleNetwork", "HoldfastAppleApp",
    "CHoldfastCurl", "CHoldfastLinux", "CHoldfastZlib",
  ]

  /// The stand-ins for Apple's frameworks, which no app compiles.
  private static let standIns: Set<String> = [
    "Network", "Security", "UIKit", "BackgroundTasks", "UserNotifications", "os",
  ]

  /// The targets that may depend on the simulator, which is larger than any other module that tests
  /// build.
  private static let simulating: Set<String> = [
    "HoldfastSimulator", "HoldfastSimulatorCommand", "HoldfastRunTraces", "SimulatorTests",
    "SimulateTests", "HoldfastBench", "HoldfastWorlds",
  ]

  @Test func `the name of every target begins with the package's name`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    let names = graph.uses.keys.filter { !$0.hasSuffix("Tests") }
    #expect(names.count > 40)
    // A package and the packages that depend on it must not have targets with the same name.
    #expect(
      names.filter { !$0.hasPrefix("Holdfast") && !$0.hasPrefix("CHoldfast") }.sorted() == [])
  }

  @Test func `an app with a held socket compiles no other feature`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    #expect(graph.products["HoldfastSocket"] == ["HoldfastSocket"])
    #expect(graph.closure(of: ["HoldfastSocket"]).subtracting(Self.standIns) == Self.socket)
  }

  @Test func `only targets that play the simulator depend on it`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    let worlds = Set(graph.folders.filter { $0.value.hasSuffix("/World") }.keys)
    #expect(worlds.contains("HoldfastHeldWorld"))
    let users = graph.users(of: "HoldfastWorldKernel")
    #expect(users.contains("HoldfastSimulator"))
    #expect(users.subtracting(Self.simulating).subtracting(worlds).sorted() == [])
  }

  @Test func `the world of a feature uses no other feature and no other world`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    for (name, folder) in graph.folders where folder.hasSuffix("/World") {
      let others = graph.folders.filter { other in
        (other.value.hasSuffix("/World") || Self.isServers(other.value))
          && !other.value.hasPrefix("Server/") && !other.value.hasPrefix(folder.dropLast(5))
      }
      #expect(graph.closure(of: [name]).isDisjoint(with: others.keys), "\(name)")
    }
  }

  @Test func `only the simulator's product contains pages, and apps do not compile them`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    let withPages = graph.products.filter { graph.closure(of: $0.value).contains("CHoldfastPages") }
    #expect(withPages.keys.sorted() == ["HoldfastSimulator", "holdfast", "holdfast-sim"])
  }

  @Test func `the program, the demo and pictures of journals compile no simulator`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    for name in ["HoldfastCommand", "HoldfastDemo", "DemoTests", "LinkTraceTests"] {
      let compiled = graph.closure(of: [name])
      #expect(compiled.contains("HoldfastLinkChecks"), "\(name)")
      #expect(!compiled.contains("HoldfastWorldKernel"), "\(name)")
    }
  }

  /// Returns whether a folder contains rules of a server, which no phone compiles.
  private static func isServers(_ folder: String) -> Bool {
    folder.hasSuffix("/Server") || folder.hasPrefix("Server/") && folder != "Server/Data"
  }

  @Test func `a module uses the rules of no phone but those of its own feature`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    let phones = graph.folders.filter { $0.value.hasSuffix("/Phone") }
    #expect(phones.keys.contains("HoldfastMessageStream"))
    for (name, folder) in graph.folders {
      guard Self.divided.contains(String(folder.prefix { $0 != "/" })),
        !folder.hasSuffix("/Command")
      else { continue }
      let feature = folder.prefix(upTo: folder.lastIndex(of: "/") ?? folder.startIndex) + "/"
      let others = phones.filter { !$0.value.hasPrefix(feature) }.keys
      #expect(graph.closure(of: [name]).intersection(others) == [], "\(name)")
    }
  }

  /// The folders whose modules belong to one feature or to none. Products and tools join features, and
  /// commands use products.
  private static let divided: Set<String> = [
    "Base", "Messages", "Health", "Session", "Bottle", "HeldSocket", "Assistants", "Server",
    "Stores",
    "Apple", "Android",
  ]

  @Test func `no app, no phone's rules and no data use the rules of a server`() throws {
    let graph = BuildGraph(try #require(Tree.here.file("Package.swift")))
    let servers = Set(graph.folders.filter { Self.isServers($0.value) }.keys)
    #expect(servers.contains("HoldfastMessageServer") && servers.contains("HoldfastServerParts"))
    let below = graph.folders.filter {
      $0.value.hasSuffix("/Phone") || $0.value.hasSuffix("/Data")
    }
    for name in below.keys + ["Holdfast", "HoldfastUI", "HoldfastTestKit"] {
      #expect(graph.closure(of: [name]).intersection(servers) == [], "\(name)")
    }
  }
}
