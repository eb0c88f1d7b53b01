import Foundation
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of pages of simulated runs in Chromium.
@Suite(.timeLimit(.minutes(10))) struct SimulatePageTests {
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
        ["simulate", world, "--break", defect, "--seeds", "1..300", "--html", page])
      #expect(outcome.status == 1, "\(world), \(defect): \(outcome.errors)")
      pages.append(page)
    }
    let checked = try await PageCheck.run(
      "check_simulated.py", pages)
    #expect(checked.status == 0, "\(checked.output.filter { !$0.hasPrefix("✓") })")
    #expect(checked.output.count == pages.count + 1)
  }

  /// The first deliberate defect of each world.
  private static func defects() -> [(world: String, defect: String)] {
    func first<Feature: SimulatedFeature>(_ feature: Feature.Type) -> String? {
      Feature.Defect.allCases.first?.rawValue
    }
    return Worlds.all.compactMap { world in first(world).map { (world.name, $0) } }
  }
}
