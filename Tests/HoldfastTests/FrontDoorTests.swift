import Foundation
import Holdfast
import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import MessageStream
import Testing

/// The stream between an app, a network and a token source that do not behave.
@Suite(.timeLimit(.minutes(1))) struct FrontDoorTests {
  private let network = FakeNetwork(clock: BootClock())

  @Test(arguments: ["SEKRIT.TOKEN.TEXT", "SEKRIT/TOKEN+TEXT=="])
  func `an answer that echoes the request brings no token into notices or the journal`(
    token: String
  ) async throws {
    let encoded = token.replacing("/", with: "%2F").replacing("+", with: "%2b")
      .replacing("=", with: "%3D")
    network.serve(requests: { _ in
      let note = "cannot GET /x?token=\(encoded) for\\u0007 \(token) as \(token.dropLast(3))"
      return .success(
        HTTPResponse(
          status: 500, headers: ["content-type": "application/json"],
          body: Array(#"{"message":"\#(note)"}"#.utf8)))
    })
    let path = NSTemporaryDirectory() + "holdfast-\(UUID().uuidString).jsonl"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var configuration = try configuration()
    configuration.authentication = .query
    configuration.journal = path
    let stream = try await streams(FixedToken(token)).open(configuration)
    let failure = await fetchFailure(of: stream)
    await stream.close()
    let detail = "cannot GET /x?token=[token] for [token] as [token]"
    #expect(failure == .http(status: 500, retryAfter: nil, detail: detail))
    #expect(!(try String(contentsOfFile: path, encoding: .utf8)).contains("SEKRIT"))
  }

  private func fetchFailure(of stream: ShopStream) async -> LinkFailure? {
    for await case .notice(.fetchFailed(let failure)) in stream { return failure }
    return nil
  }

  private func streams(_ tokens: any TokenSource) -> ShopStreams {
    ShopStreams(
      StreamEnvironment(
        network: network, store: Platform.memoryStore(), reachability: AlwaysReachable(),
        lifecycle: AlwaysForeground(), tokens: tokens))
  }

  private func configuration(
    _ changes: [(key: String, value: String)] = []
  ) throws -> StreamConfiguration {
    StreamConfiguration(
      server: "http://127.0.0.1:1", shop: try #require(ShopID("shop")),
      policy: try LinkPolicy.messageStream.setting(StreamBench.quick + changes))
  }
}
