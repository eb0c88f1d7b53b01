import HoldfastCore
import HoldfastHeldChecks
import HoldfastLinkChecks
import HoldfastTestKit

/// A held WebSocket in the lab: an app that follows a feed of lines, and the server of the feed, which
/// has a protocol of its own.
actor FeedLab: LabFeature {
  nonisolated let name = "socket"
  nonisolated let title = "Feed"
  nonisolated let writes = "an order to the feed"
  nonisolated let app = App.feed
  nonisolated let hasOwnServer = true
  nonisolated let unaffectedBy: Set<LabDeed> = [.expireTokens]

  private let parts: LabParts
  private let server = FeedServer(pause: .seconds(2))
  private var proxy: FaultProxy?

  init(_ parts: LabParts) { self.parts = parts }

  var networks: [FaultProxy] { proxy.map { [$0] } ?? [] }

  func prepare() async throws(DemoFailure) -> [String] {
    try await server.start()
    let port = await server.port
    let proxy = try DemoEnvironment.checked { () throws(FaultProxyError) in
      try FaultProxy(upstream: port)
    }
    self.proxy = proxy
    // The greeting asks for lines after one that is never reached, so only new ones arrive.
    return [
      parts.program, "socket", "ws://127.0.0.1:\(proxy.port)/", "--json", "--send-stdin", "--hello",
      "after \(Int.max / 2)",
    ] + LabFeatures.watchable
  }

  nonisolated func trace(
    of journal: String, start: Instant, startedAt: Timestamp
  ) -> any LiveTrace {
    LiveJournalTrace(HeldFeature.self, journal: journal, start: start, startedAt: startedAt)
  }

  func endServer(isWarned: Bool) async {
    // Without a warning, clients see a reset in place of a closing handshake.
    if !isWarned { try? await proxy?.set(.reset) }
    await server.stop()
  }

  func startServer() async throws(DemoFailure) { try await server.start() }

  func close() async {
    _ = await server.end()
    await server.stop()
  }
}
