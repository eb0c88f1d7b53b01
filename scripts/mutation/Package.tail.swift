
// The copy for mutants: the planted modules, their suites, and what these need.
let planted: Set<String> = ["PLANTED"]
let switchboard: [Target] = [
  .target(name: "CMutants", path: "Mutation/CMutants"),
  .target(
    name: "Mutants", dependencies: ["CMutants"], path: "Mutation/Mutants",
    swiftSettings: [.swiftLanguageMode(.v6)]),
  .executableTarget(
    name: "MutantRuns", dependencies: ["CMutants", "LinkSimulator"],
    path: "Mutation/MutantRuns", swiftSettings: [.swiftLanguageMode(.v6)]),
]
for target in package.targets where planted.contains(target.name) {
  target.dependencies.append("Mutants")
}
package.targets += switchboard
var needed: Set<String> = ["SUITES", "MutantRuns"]
var size = 0
while size < needed.count {
  size = needed.count
  for target in package.targets where needed.contains(target.name) {
    for dependency in target.dependencies {
      if case .byNameItem(let name, _) = dependency { needed.insert(name) }
    }
  }
}
package.targets = package.targets.filter { needed.contains($0.name) }
package.products = []
// The suites themselves are built quickly rather than well.
for target in package.targets where target.type == .test {
  target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone"])]
}
