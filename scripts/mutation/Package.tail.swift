// The copy for mutants: the modules with mutants, their suites, and their dependencies.
let planted: Set<String> = ["PLANTED"]
let switchboard: [Target] = [
  .target(name: "CMutants", path: "Mutation/CMutants"),
  .target(
    name: "Mutants", dependencies: ["CMutants"], path: "Mutation/Mutants",
    swiftSettings: [.swiftLanguageMode(.v6)]),
  .executableTarget(
    name: "MutantRuns", dependencies: ["CMutants", "HoldfastCore", "HoldfastWorlds"],
    path: "Mutation/MutantRuns", swiftSettings: [.swiftLanguageMode(.v6)]),
]
for target in package.targets where planted.contains(target.name) {
  target.dependencies.append("Mutants")
}
package.targets += switchboard
var needed: Set<String> = ["SUITES", "RUNS"]
var size = 0
while size < needed.count {
  size = needed.count
  for target in package.targets where needed.contains(target.name) {
    for dependency in target.dependencies {
      switch dependency {
      case .byNameItem(let name, _), .targetItem(let name, _): needed.insert(name)
      case _: continue
      }
    }
  }
}
package.targets = package.targets.filter { needed.contains($0.name) }
package.products = []
// Only the modules that the simulator plays are optimized. All others are built quickly.
let simulator: Set<String> = [
  "HoldfastLinkChecks", "HoldfastMessageChecks", "HoldfastRelayChecks", "HoldfastSyncChecks",
  "HoldfastSessionChecks", "HoldfastBottleChecks", "HoldfastHeldChecks",
  "HoldfastWorldKernel", "HoldfastMessageWorld", "HoldfastRelayWorld",
  "HoldfastSyncWorld", "HoldfastSessionWorld", "HoldfastBottleWorld", "HoldfastHeldWorld",
  "HoldfastWorlds",
]
let played = planted.union(["Mutants", "MutantRuns"]).union(simulator)
for target in package.targets where target.type != .system && !played.contains(target.name) {
  target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone"])]
}
// If two modules have a member of the same name, the import decides.
for target in package.targets where target.type == .test || simulator.contains(target.name) {
  target.swiftSettings?.append(.enableUpcomingFeature("MemberImportVisibility"))
}
