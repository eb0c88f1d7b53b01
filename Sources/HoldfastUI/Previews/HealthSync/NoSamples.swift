import Holdfast
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSyncData

/// A source without samples, which asks nobody.
struct NoSamples: HealthSource {
  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) async {}

  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage {
    throw .failed(detail: "a preview has no samples")
  }

  func stop() async {}
}
