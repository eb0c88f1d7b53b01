import HoldfastCore
import HoldfastKeyedHashing
import HoldfastMessageServer
import HoldfastPorts

/// A sender of signed requests to the operator's backend.
struct HookCaller: Sendable {
  /// The header field with the time and the signature of a request.
  static let field = "Holdfast-Signature"
  /// The maximum size of a response's body, in bytes. A larger body is a failure.
  private static let maxAnswerBytes = 65_536

  let url: String
  /// The key of the signatures; `nil` for no signatures.
  let key: [UInt8]?
  let client: any HTTPClient
  let policy: HookPolicy

  /// Sends a request, and returns how it ended.
  func send(_ body: [UInt8], within limit: Duration, at wall: Timestamp) async -> HookOutcome {
    var headers = [(name: "Content-Type", value: "application/json")]
    headers.append((name: "Accept", value: "application/json"))
    if let key {
      headers.append((name: Self.field, value: Self.signature(of: body, at: wall, key)))
    }
    let call = HTTPCall(
      method: "POST", url: url, headers: headers, body: body, timeout: limit,
      maxBodyBytes: Self.maxAnswerBytes)
    do throws(LinkFailure) {
      let answer = try await client.send(call)
      return .answered(status: answer.status, body: answer.body)
    } catch {
      return .failed(detail: "\(error)")
    }
  }

  /// Returns the value of the field: the time in seconds since 1970, and the HMAC-SHA256 (RFC 2104)
  /// of the time, a period and the body, in lowercase hexadecimal digits.
  static func signature(of body: [UInt8], at wall: Timestamp, _ key: [UInt8]) -> String {
    let seconds = String(wall.nanoseconds / 1_000_000_000)
    let hash = KeyedHash.sha256(key: key, over: Array("\(seconds).".utf8) + body)
    return "t=\(seconds),v1=\(Hex.text(of: hash))"
  }
}
