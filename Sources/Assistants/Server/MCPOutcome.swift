import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayServer

extension MCPCallResult {
  /// Creates the result of a tool call from the outcome that the relay reported.
  init(
    _ outcome: RelayOutcome, of tool: MCPTool, rejected: [RejectedMetric] = [],
    window: ClosedRange<Timestamp>? = nil
  ) {
    switch outcome {
    case .loggedIn(let grant): self.init(object: grant.object)
    case .renewed: self.init(object: Self.said("Renewed."))
    case .loggedOut: self.init(object: Self.said("Logged out."))
    case .data(let answer) where tool == .listHealthTypes && !answer.succeeded:
      self = .refused("phone_refused", Self.noList(answer.reason ?? ""))
    case .data(let answer):
      self.init(
        answer, of: tool.questionKind ?? .healthData, rejected: rejected, window: window)
    case .refused(.timedOut(let limit)) where tool == .listHealthTypes:
      let timedOut = RelayRefusal.timedOut(after: limit)
      self = .refused(timedOut.name, Self.noList(timedOut.description))
    case .refused(let refusal): self.init(refusal)
    }
  }

  /// Returns a sentence that says why there is no list of types. Phones with an older app, and those
  /// of the original, know no such question.
  private static func noList(_ reason: String) -> String {
    var reason = reason
    while reason.last == "." { reason.removeLast() }
    return "\(reason). The app on the phone may be too old to list its kinds of data; "
      + "get_health_metrics works without the list."
  }

  init(_ refusal: RelayRefusal) {
    self = .refused(refusal.name, refusal.description)
  }

  private static func said(_ message: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 60)
    writer.beginObject()
    writer.entry("success", true)
    writer.entry("message", message)
    writer.endObject()
    return writer.bytes
  }
}

extension RelayGrant {
  /// The result of `direct_login` (contract 1.7).
  fileprivate var object: [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("success", true)
    writer.entry("access_token", accessToken)
    writer.entry("token_type", "Bearer")
    writer.entry("expires_in", expiresIn.components.seconds)
    writer.entry("user_id", user)
    writer.entry("message", "Paired with the phone.")
    writer.endObject()
    return writer.bytes
  }
}

extension RelayRefusal {
  /// The HTTP status of the plain endpoints (RFC 9110 section 15, RFC 6585 section 4).
  var status: Int {
    switch self {
    case .wrongPair, .notSignedIn, .tokenExpired, .signedOut, .phoneReplaced: 401
    case .cancelled: 409
    case .answerTooLarge: 422
    case .lockedOut, .tooManyWaiting: 429
    case .malformed: 502
    case .phoneAway, .storeFailed, .stopping: 503
    case .timedOut: 504
    }
  }

  var retryAfter: Duration? {
    switch self {
    case .lockedOut(let wait), .tooManyWaiting(let wait), .storeFailed(let wait),
      .stopping(let wait):
      wait
    case .wrongPair, .notSignedIn, .tokenExpired, .signedOut, .phoneAway, .phoneReplaced,
      .timedOut, .cancelled, .malformed, .answerTooLarge:
      nil
    }
  }
}
