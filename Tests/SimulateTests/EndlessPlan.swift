import Foundation
import HoldfastHeldChecks
import HoldfastLinkChecks
import HoldfastTestKit
import HoldfastWorlds

/// A plan of held sockets that lasts many years, so that its run does not end during a test.
enum EndlessPlan {
  static func with<R>(_ body: (_ file: String) async throws -> R) async throws -> R {
    try await CommandProcess.scratch { directory in
      let file = directory + "/endless.json"
      let plan = WorldPlan<HeldFeature>(seed: 7, events: [], length: .seconds(35_000_000))
      try JSONEncoder().encode(CorpusCase(name: "endless", plan: plan))
        .write(to: URL(filePath: file))
      return try await body(file)
    }
  }
}
