import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSession
import HoldfastTestKit
import Testing

/// Tests of how often a message passes between tasks and threads.
@Suite(.timeLimit(.minutes(60))) struct SessionHopsTests {
  private static let count: UInt64 = 200
  /// The greatest number of jobs on the phone's thread for a prompt, its answer and the record that
  /// it was shown: deliveries of the socket, commits, and turns of the driver. 8.4 to 8.7 were counted
  /// on an idle machine, where a turn takes several inputs. With up to 24 other busy processes the
  /// count approached 11.0, one turn for each input, and did not exceed 11.02. A detour over the
  /// shared threads is at least one more.
  private static let mostPhoneJobs = 12.0
  /// The greatest number of times that other threads wake the server's thread meanwhile. None was
  /// counted.
  private static let mostServerWakes = 1.0

  @Test func `a prompt and its answer take few jobs of the phone and few wakes of the server`()
    async throws
  {
    let scratch = try Scratch()
    let backend = Backend(
      BackendConfiguration(dataDirectory: scratch("data")), stores: [MemorySessionStore()])
    let url = try await backend.start().session
    let key = try scratch.text(of: "data/session-key")
    var configuration = SessionConfiguration(url, storage: .memory) { key }
    configuration.ports.network = try configuration.ports.openNetwork(allowsPlaintext: true)
    let network = try #require(configuration.ports.network as? any ThreadedNetwork)
    let session = try await HeldSession(configuration)
    // The first answer shows that the session is connected.
    try await answer(1, in: session)
    let (phone, server) = (network.threadCounters, try await backend.threadCounters())
    try await answer(Self.count, in: session)
    let phoneJobs = network.threadCounters - phone
    let serverWakes = try await backend.threadCounters() - server
    #expect(Double(phoneJobs.jobs) / Double(Self.count) <= Self.mostPhoneJobs)
    #expect(Double(serverWakes.wakes) / Double(Self.count) <= Self.mostServerWakes)
    await session.close()
    await backend.kill()
  }

  /// Sends prompts one after the other, each once the answer to the one before is shown.
  private func answer(_ count: UInt64, in session: HeldSession) async throws {
    var left = count
    session.prompt("hello")
    for await update in session {
      guard case .message(_, _, let news) = update else { continue }
      session.markShown(through: news)
      left -= 1
      if left == 0 { return }
      session.prompt("hello")
    }
  }
}
