public import HoldfastCore
import HoldfastJSON
public import HoldfastServerParts

/// The end of a request to the operator's backend.
public enum HookOutcome: Sendable, Hashable, Codable {
  /// A complete response with any status.
  case answered(status: Int, body: [UInt8])
  /// No response arrived, for this reason.
  case failed(detail: String)
}

/// The decision of the operator's backend, as read from its response.
///
/// A response with status 2xx allows what was asked, unless its body is a JSON object whose `allow`
/// is `false`. A response with status 4xx denies it. `reason` of a JSON object says why. Statuses 404,
/// 405, 408 and 429 say that the address is wrong or that the backend is busy, so they are failures
/// like all other statuses.
enum HookReply: Sendable, Hashable {
  case allowed
  case denied(reason: String)
  case failed(detail: String)

  /// The maximum size of a response's body, in bytes. A decision needs far less.
  static let maxBytes = 65_536
  /// The maximum number of Unicode scalars of a reason. The rest is left out.
  static let maxReason = 200
  /// The reason for clients if the response has none.
  static let noReason = "the operator of this server refused this"

  private static let failures: Set<Int> = [404, 405, 408, 429]

  init(_ outcome: HookOutcome) {
    switch outcome {
    case .failed(let detail): self = .failed(detail: detail)
    case .answered(let status, let body):
      switch status {
      case 200..<300: self = Self.decision(Self.unmarked(body))
      case 400..<500 where !Self.failures.contains(status):
        let members = try? Self.members(of: Self.unmarked(body))
        self = .denied(reason: members?.reason ?? Self.noReason)
      case _: self = .failed(detail: "status \(status)")
      }
    }
  }

  /// Reads the body of a response with status 2xx. A body that begins like an object must be one, so
  /// that a refusal that was cut off allows nothing.
  private static func decision(_ body: [UInt8]) -> HookReply {
    // Text in UTF-16 has a zero in each character of ASCII. A refusal in it must not be overlooked.
    guard !body.contains(0) else {
      return .failed(detail: "its JSON cannot be used: it is not in UTF-8")
    }
    let start = body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    guard start == UInt8(ascii: "{") else { return .allowed }
    do throws(FieldFault) {
      let (allow, reason) = try members(of: body)
      return allow ?? true ? .allowed : .denied(reason: reason ?? noReason)
    } catch {
      return .failed(detail: "its JSON cannot be used: \(error)")
    }
  }

  /// Returns a body without a byte order mark, which some libraries write (RFC 8259 section 8.1).
  private static func unmarked(_ body: [UInt8]) -> [UInt8] {
    body.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(body.dropFirst(3)) : body
  }

  private static func members(
    of body: [UInt8]
  ) throws(FieldFault) -> (allow: Bool?, reason: String?) {
    let fields = JSONFields(body, keeping: ["allow", "reason"])
    try fields.check()
    let reason = try fields.optionalString("reason")
    let text = String(String.UnicodeScalarView((reason ?? "").unicodeScalars.prefix(maxReason)))
    return (try fields.optionalBool("allow"), text.isEmpty ? nil : text)
  }
}

/// The decision about a question, for the client that waits.
public enum HookVerdict: Sendable, Hashable, Codable {
  /// The client may connect, or its text may be stored. The ID is the one that the operator's backend
  /// knows of the message; `nil` for a socket.
  case allowed(UUID128?)
  /// The operator's backend refused.
  case denied(reason: String)
  /// The operator's backend did not answer, and the policy is to refuse then.
  case unanswered
  /// The user has too many questions without an answer.
  case tooMany
}

extension HookVerdict {
  /// The response to a client that is not let in; `nil` if it is.
  public var refusal: HTTPRefusal? {
    switch self {
    case .allowed: nil
    case .denied(let reason): HTTPRefusal(403, reason)
    case .unanswered:
      HTTPRefusal(
        503, "the service that decides about this gave no answer", retryAfter: .seconds(2))
    case .tooMany:
      HTTPRefusal(429, "too many requests wait for a decision", retryAfter: .seconds(1))
    }
  }

  /// The name of the decision in the log.
  public var name: String {
    switch self {
    case .allowed: "allowed"
    case .denied: "denied"
    case .unanswered: "unanswered"
    case .tooMany: "limited"
    }
  }
}
