import HoldfastCore
import HoldfastPorts
import HoldfastSocketEngine
import Testing

@testable import HoldfastCurlNetwork

/// Tests with peers whose compressed messages inflate to a large size.
@Suite(.timeLimit(.minutes(60)))
struct InflationTests {
  @Test func `messages inflated from one read are delivered in bounded batches, in order`()
    async throws
  {
    let sizes = (0..<4_000).map { 10_000 - $0 % 100 }
    let server = try TestServer { peer in
      peer.upgrade(deflate: true)
      peer.send(binaries: sizes.map { [UInt8](repeating: 0, count: $0) })
      peer.close(1000)
      peer.drain()
    }
    let (turns, turn) = AsyncStream<[SocketEvent]>.makeStream()
    let request = SocketRequest.to(server.socketURL, maxMessageBytes: 10_240)
    let handle = try await CurlNetwork().openInTurns(request) { events in
      turn.yield(events)
      if case .failed = events.last { turn.finish() }
    }
    var seen: [Int] = []
    var most = 0
    for await events in turns {
      let counts = events.compactMap { event -> Int? in
        guard case .binary(let bytes) = event else { return nil }
        return bytes.count
      }
      seen += counts
      most = max(most, counts.reduce(0, +))
    }
    #expect(seen == sizes)
    // The bound is the limit, plus the inflated size of one more piece, plus a message that began
    // before that piece.
    #expect(most < SocketConnection.mostInflated + 1_032 * 1_024 + 10_240)
    await handle.close(code: 1000, reason: "")
  }
}
