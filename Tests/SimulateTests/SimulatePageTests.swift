import Foundation
import HoldfastBottleChecks
import HoldfastHeldChecks
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastMessageChecks
import HoldfastRelayChecks
import HoldfastRunTraces
import HoldfastSessionChecks
import HoldfastSyncChecks
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of pages of simulated runs in Chromium.
@Suite(.timeLimit(.minutes(60))) struct SimulatePageTests {
  @Test(.enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"))
  func `a page of each world opens without a message, and at its first finding`() async throws {
    let scratch = try Scratch()
    var pages: [String] = []
    for world in Worlds.all {
      let page = scratch("\(world.name).html")
      let seed = ["--seeds", "3", "--html", page]
      let server = world.name == "message-stream" ? ["--server", "plain"] : []
      let outcome = try await SimulatorProcess.run(["simulate", world.name] + server + seed)
      #expect(outcome.status == 0, "\(outcome.errors)")
      pages.append(page)
    }
    for (world, defect) in Self.defects() {
      let page = scratch("\(world)-\(defect).html")
      let outcome = try await SimulatorProcess.run(
        ["simulate", world, "--break", defect, "--seeds", "6", "--html", page])
      #expect(outcome.status == 1, "\(world), \(defect): \(outcome.errors)")
      pages.append(page)
    }
    let checked = try await PageCheck.run(
      "check_simulated.py", pages)
    #expect(checked.status == 0, "\(checked.output.filter { !$0.hasPrefix("✓") })")
    #expect(checked.output.count == pages.count + 1)
  }

  @Test(.enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"))
  func `traces of all worlds follow the schema, and pages of them and of large traces open`()
    async throws
  {
    let scratch = try Scratch()
    let all = [
      trace(of: StreamFeature.self), trace(of: RelayFeature.self), trace(of: HeldFeature.self),
      trace(of: SessionsFeature.self), trace(of: SyncFeature.self), trace(of: BottleFeature.self),
    ]
    let pages = try [write(all, scratch("worlds.html"))] + sized(scratch)
    let schema = PageCheck.package.appending(path: "docs/trace.schema.json").path
    let checked = try await PageCheck.run("check_simulated.py", ["--schema", schema] + pages)
    #expect(checked.status == 0, "\(checked.output.filter { !$0.hasPrefix("✓") })")
    #expect(checked.output.count == pages.count + 1)
  }

  private func trace<Feature: SimulatedFeature & TracedFeature>(of feature: Feature.Type) -> [UInt8]
  {
    SimulatedRun<Feature>(.drawn(.swarm, seed: 1)).traces[0].text
  }

  /// Writes pages whose traces are smaller than the largest plain ones, of their size, and larger.
  private func sized(_ scratch: Scratch) throws -> [String] {
    let plan = WorldPlan<HeldFeature>(seed: 1, events: [], length: .seconds(60))
    var run = SimulatedRun<HeldFeature>(plan).traces[0]
    let pages = try [-1, 0, 1].map { beyond in
      let size = PictureFile.largestPlain + beyond
      let padded = run.text + [UInt8](repeating: 0x20, count: size - run.text.count)
      return try write([padded], scratch("size\(beyond).html"))
    }
    for number in 1...60_000 {
      let at = run.header.end + .milliseconds(number)
      run.facts.append(.world(.incoming(bytes: number), at: at, "A message of \(number) bytes."))
    }
    run.header.end += .seconds(60)
    #expect(run.text.count > PictureFile.largestPlain)
    return try pages + [write([run.text], scratch("large.html"))]
  }

  private func write(_ traces: [[UInt8]], _ path: String) throws -> String {
    try Data(PictureFile.bytes(of: traces)).write(to: URL(filePath: path))
    return path
  }

  /// The first deliberate defect of each world.
  private static func defects() -> [(world: String, defect: String)] {
    func first<Feature: SimulatedFeature>(_ feature: Feature.Type) -> String? {
      Feature.Defect.allCases.first?.rawValue
    }
    return Worlds.all.compactMap { world in first(world).map { (world.name, $0) } }
  }
}
