extension Rules {
  /// The modules that an app does not compile when it wants a held socket alone.
  static let besidesSocket: Set<String> = [
    "LinkHealth", "LinkWire", "LinkServerCore", "LinkRuntime", "LinkSimulator", "HealthRelay",
    "HealthSync", "BottleLink", "BottleFirmware", "MessageStream", "Session", "StoreSQLite",
    "Holdfast",
  ]

  /// The targets that may build the simulator, which is larger than what the others test.
  static let simulating: Set<String> = [
    "HoldfastSimulator", "SimulatorCommand", "SimulatorTests", "SimulateTests", "HoldfastBench",
  ]

  /// Returns what a product builds of modules that it must not.
  static func excess(
    of product: String, besides modules: Set<String>, in graph: BuildGraph
  ) -> [String] {
    graph.closure(of: graph.products[product] ?? []).intersection(modules).sorted()
  }

  /// Returns the targets that build the simulator and must not.
  static func simulatorUsers(in graph: BuildGraph) -> [String] {
    graph.users(of: "LinkSimulator").subtracting(simulating).sorted()
  }
}
