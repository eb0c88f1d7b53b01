import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSocket
import HoldfastTestKit
import Testing

@testable import Holdfast

/// Tests of responses that do not come from the server's program.
@Suite(.timeLimit(.minutes(60))) struct RestCallerTests {
  /// Returns the failure that `ask` throws when `url` returns the given response.
  private static func failure(
    of answer: HTTPAnswer, from url: String, by ask: (FakeNetwork, HTTPCall) async throws -> Void
  ) async -> LinkFailure? {
    let network = FakeNetwork(clock: BootClock())
    network.serve(requests: { _ in .success(answer) })
    let call = HTTPCall(method: "POST", url: url, timeout: .seconds(60), maxBodyBytes: 100)
    do {
      try await ask(network, call)
      return nil
    } catch {
      return error as? LinkFailure
    }
  }

  /// Sends a request of a feature.
  private static func call(_ network: FakeNetwork, _ call: HTTPCall) async throws {
    let caller = RestCaller(http: network, credentials: .none) { _ in "the server's words" }
    try await caller.call(call, "the answer") { _ in }
  }

  /// Sends a request of a sync.
  private static func ask(_ network: FakeNetwork, _ call: HTTPCall) async throws {
    _ = try await network.answer(to: call, nil)
  }

  private static let redirect = ["Location": "https://other.example/api/?token=abc"]
  private static let page = ["Content-Type": "text/html; charset=utf-8"]

  @Test(
    arguments: [
      (308, redirect, "points to https://other.example/api/"), (200, page, "a web page"),
      (302, [:], "the server's words"), (503, [:], "the server's words"),
    ] as [(Int, [String: String], String)],
    ["https://server.example/api/sync", "http://127.0.0.1:8787/api/sync"])
  func `a redirect and a web page are failures with the status and the target`(
    answer: (status: Int, headers: [String: String], detail: String), url: String
  ) async {
    let head = HTTPAnswer(
      status: answer.status, headers: answer.headers,
      body: Array("{\"error\":\"the server's words\"}".utf8))
    let failure = LinkFailure.http(
      status: answer.status, retryAfter: nil, detail: answer.detail)
    #expect(await Self.failure(of: head, from: url, by: Self.call) == failure)
    // Any other status of an answer to a sync is data.
    let raw = await Self.failure(of: head, from: url, by: Self.ask)
    #expect(raw == (answer.status == 503 ? nil : failure))
  }

  @Test(arguments: [(302, redirect), (200, page), (511, [:])] as [(Int, [String: String])])
  func `without TLS a response from another machine may be a login page`(
    status: Int, headers: [String: String]
  ) async {
    let head = HTTPAnswer(status: status, headers: headers, body: [])
    let url = "http://server.example/api/sync"
    let failure = await Self.failure(of: head, from: url, by: Self.ask)
    #expect(failure == .captivePortal)
  }

  @Test func `a response of the program is not a failure`() async {
    let head = HTTPAnswer(status: 200, headers: ["Content-Type": "application/json"], body: [])
    let failure = await Self.failure(of: head, from: "https://server.example/", by: Self.call)
    #expect(failure == nil)
  }
}
