import HoldfastSocket
import HoldfastTestKit
import HoldfastCore
import HoldfastPorts
import Testing

@testable import Holdfast

/// Tests of responses that do not come from the server's program.
@Suite(.timeLimit(.minutes(10))) struct RestCallerTests {
  /// Returns the failure that `ask` throws when `url` returns the given response.
  private static func failure(
    of answer: HTTPAnswer, from url: String, by ask: (RestCaller, HTTPCall) async throws -> Void
  ) async -> LinkFailure? {
    let network = FakeNetwork(clock: BootClock())
    network.serve(requests: { _ in .success(answer) })
    let caller = RestCaller(http: network, credentials: .none) { _ in "the server's words" }
    let call = HTTPCall(method: "POST", url: url, timeout: .seconds(60), maxBodyBytes: 100)
    do {
      try await ask(caller, call)
      return nil
    } catch {
      return error as? LinkFailure
    }
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
    let head = HTTPAnswer(status: answer.status, headers: answer.headers, body: [])
    let failure = LinkFailure.http(
      status: answer.status, retryAfter: nil, detail: answer.detail)
    #expect(
      await Self.failure(of: head, from: url) { try await $0.call($1, "the answer") { _ in } }
        == failure)
    let raw = await Self.failure(of: head, from: url) { _ = try await $0.answer(to: $1) }
    #expect(raw == (answer.status == 503 ? nil : failure))
  }

  @Test(arguments: [(302, redirect), (200, page), (511, [:])] as [(Int, [String: String])])
  func `without TLS a response from another machine may be a login page`(
    status: Int, headers: [String: String]
  ) async {
    let head = HTTPAnswer(status: status, headers: headers, body: [])
    let failure = await Self.failure(of: head, from: "http://server.example/api/sync") {
      _ = try await $0.answer(to: $1)
    }
    #expect(failure == .captivePortal)
  }

  @Test func `a response of the program is not a failure`() async {
    let head = HTTPAnswer(status: 200, headers: ["Content-Type": "application/json"], body: [])
    let failure = await Self.failure(of: head, from: "https://server.example/") {
      try await $0.call($1, "the answer") { _ in }
    }
    #expect(failure == nil)
  }
}
