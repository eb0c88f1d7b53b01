import Foundation
import HoldfastBottleLink
import HoldfastCore
import HoldfastHealthRelay
import HoldfastHealthSync
import HoldfastHeldSocket
import HoldfastLinkTrace
import HoldfastMessageStream
import HoldfastSession
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of the pages that `holdfast replay --html` writes, opened in Chromium.
@Suite(.timeLimit(.minutes(10))) struct PictureTests {
  @Test(.enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"))
  func `pages of real journals and of simulated runs work in a browser`() async throws {
    try await CommandProcess.scratch { directory in
      let journals = try await RecordedLinks.journals(in: directory)
      let page = directory + "/real.html"
      let replay = try await CommandProcess.run(["replay", "--html", page] + journals)
      #expect(replay.status == 0, "\(replay)")
      let pages = try Self.simulated(in: directory) + Self.sized(in: directory)
      let schema = PageCheck.package.appending(path: "docs/trace.schema.json").path
      try await PictureScript.pass("check_picture.py", ["--schema", schema, page] + pages)
    }
  }

  /// Writes a page for each feature, and one with all of them.
  private static func simulated(in directory: String) throws -> [String] {
    let all = [
      trace(of: StreamFeature.self), trace(of: RelayFeature.self), trace(of: HeldFeature.self),
      trace(of: SessionsFeature.self), trace(of: SyncFeature.self), trace(of: BottleFeature.self),
    ]
    let pages = try all.enumerated().map { try write([$1], "\(directory)/feature-\($0).html") }
    return try pages + [write(all, directory + "/features.html")]
  }

  private static func trace<Feature: TracedFeature>(of feature: Feature.Type) -> [UInt8] {
    SimulatedRun<Feature>(.drawn(.swarm, seed: 1)).traces[0].text
  }

  /// Writes pages whose traces are smaller than the largest plain ones, of their size, and larger.
  private static func sized(in directory: String) throws -> [String] {
    let plan = WorldPlan<HeldFeature>(seed: 1, events: [], length: .seconds(60))
    var run = SimulatedRun<HeldFeature>(plan).traces[0]
    let pages = try [-1, 0, 1].map { beyond in
      let size = PictureFile.largestPlain + beyond
      let padded = run.text + [UInt8](repeating: 0x20, count: size - run.text.count)
      return try write([padded], "\(directory)/size\(beyond).html")
    }
    for number in 1...60_000 {
      let at = run.header.end + .milliseconds(number)
      run.facts.append(.world(.incoming(bytes: number), at: at, "A message of \(number) bytes."))
    }
    run.header.end += .seconds(60)
    #expect(run.text.count > PictureFile.largestPlain)
    return try pages + [write([run.text], directory + "/large.html")]
  }

  private static func write(_ traces: [[UInt8]], _ path: String) throws -> String {
    try Data(PictureFile.bytes(of: traces)).write(to: URL(filePath: path))
    return path
  }
}
