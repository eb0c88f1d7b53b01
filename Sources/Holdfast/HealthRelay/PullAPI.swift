import HoldfastCore
import HoldfastPorts
import HoldfastRelayData
import HoldfastSocket

/// A client of the backend's interface for phones without a socket.
struct PullAPI: Sendable {
  private let server: String
  private let rest: RestCaller

  /// The maximum size of a response. A page of leased questions is far shorter.
  private static let maxBodyBytes = 1 << 20

  init(server: String, token: String, http: any HTTPClient) {
    self.server = server
    rest = RestCaller(http: http, credentials: .fixed(token))
  }

  func lease(_ max: Int, within time: Duration) async throws(LinkFailure) -> LeasedQuestions {
    let request = request("/relay/lease", LeaseRequest(max: max).bytes, within: time)
    return try await rest.call(request, "the questions") { bytes throws(RelayWireError) in
      try LeasedQuestions.read(bytes)
    }
  }

  func post(_ result: LeasedResult, within time: Duration) async throws(LinkFailure) {
    try await send("/relay/results", result.bytes, within: time)
  }

  func assistants(_ order: AssistantsOrder) async throws(LinkFailure) -> PairedAssistants {
    let request = request("/relay/assistants", order.bytes, within: .seconds(10))
    return try await rest.call(request, "the assistants") { bytes throws(RelayWireError) in
      try PairedAssistants.read(bytes)
    }
  }

  func synced(_ order: SyncedOrder) async throws(LinkFailure) -> SyncedAnswer {
    let request = request("/relay/sync", order.bytes, within: .seconds(10))
    return try await rest.call(request, "the user of health sync") {
      bytes throws(RelayWireError) in try SyncedAnswer.read(bytes)
    }
  }

  /// Sends a body. Only the status of the response is used.
  func send(_ path: String, _ body: [UInt8], within time: Duration) async throws(LinkFailure) {
    try await rest.call(request(path, body, within: time), "the answer") { _ in }
  }

  private func request(_ path: String, _ body: [UInt8], within time: Duration) -> HTTPCall {
    HTTPCall(
      method: "POST", url: ServerURL.http(server, path), body: body, timeout: time,
      maxBodyBytes: Self.maxBodyBytes)
  }
}
