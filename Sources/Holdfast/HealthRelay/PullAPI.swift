import LinkCore
import LinkRuntime
import LinkWire

/// The backend's three routes for phones without a socket.
struct PullAPI: Sendable {
  private let server: String
  private let token: String
  private let http: any HTTPClient
  private let redaction: Redaction

  /// A page of leased questions is far shorter.
  private static let maxBodyBytes = 1 << 20

  init(server: String, token: String, http: any HTTPClient) {
    self.server = server
    self.token = token
    self.http = http
    redaction = Redaction([token])
  }

  func lease(_ max: Int, within time: Duration) async throws(LinkFailure) -> LeasedQuestions {
    let body = try await send("/relay/lease", LeaseOrder(max: max).bytes, within: time)
    do throws(RelayWireError) {
      return try LeasedQuestions.read(body)
    } catch {
      throw .protocolError(detail: "the questions could not be read: \(error)")
    }
  }

  func post(_ result: LeasedResult, within time: Duration) async throws(LinkFailure) {
    _ = try await send("/relay/results", result.bytes, within: time)
  }

  /// The body of an answer with success.
  @discardableResult
  func send(
    _ path: String, _ body: [UInt8], within time: Duration
  ) async throws(LinkFailure) -> [UInt8] {
    let request = HTTPRequest(
      method: "POST", url: ServerURL.http(server, path),
      headers: [
        ("Accept", "application/json"), ("Content-Type", "application/json"),
        ("Authorization", "Bearer \(token)"),
      ],
      body: body, timeout: time, maxBodyBytes: Self.maxBodyBytes)
    let response: HTTPResponse
    do throws(LinkFailure) {
      response = try await http.send(request)
    } catch {
      throw redaction.clean(error)
    }
    if LinkFailure.isLoginPage(
      status: response.status, contentType: response.headers["content-type"])
    {
      throw .captivePortal
    }
    guard (200..<300).contains(response.status) else {
      throw .http(status: response.status, retryAfter: response.retryAfter, detail: "")
    }
    return response.body
  }
}
