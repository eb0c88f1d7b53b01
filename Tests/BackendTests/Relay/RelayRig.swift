import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastTestKit

/// A phone on a raw WebSocket.
struct RelayPhoneClient {
  let client: BackendClient

  /// Opens the socket and reads the connection code.
  static func open(
    _ rig: BackendRig, device: UUID128? = UUID128(high: 1, low: 1), resume: String? = nil
  ) async throws -> (RelayPhoneClient, ConnectionCode) {
    let phone = RelayPhoneClient(client: try rig.client())
    var fields = ""
    if let device { fields += "Holdfast-Device: \(device)\r\n" }
    if let resume { fields += "Holdfast-Resume: \(resume)\r\n" }
    let answer = try await phone.client.upgrade("/ws/phone", fields)
    guard answer.status == 101 else { throw BackendRig.NotUpgraded(status: answer.status) }
    guard case .connectionCode(let code) = try await phone.message() else { throw NotGreeted() }
    return (phone, code)
  }

  struct NotGreeted: Error {}

  func message() async throws -> BackendMessage {
    try BackendMessage.read(try await client.frame().payload)
  }

  /// Returns the next question, and skips other messages.
  func question() async throws -> (RelayRequestID, HealthQuestion) {
    while true {
      if case .question(let id, let question) = try await message() { return (id, question) }
    }
  }

  func say(_ message: PhoneMessage) async throws {
    try await client.say(String(decoding: message.bytes, as: UTF8.self))
  }
}

/// A push service that records the pushes that it receives.
actor FakePushes: PushSender {
  private var waiting: [CheckedContinuation<Push, Never>] = []
  private var sent: [Push] = []

  func send(_ push: Push) -> PushOutcome {
    if waiting.isEmpty { sent.append(push) } else { waiting.removeFirst().resume(returning: push) }
    return .delivered
  }

  func next() async -> Push {
    if !sent.isEmpty { return sent.removeFirst() }
    return await withCheckedContinuation { waiting.append($0) }
  }
}

extension BackendRig {
  /// Pairs an assistant with the phone that shows the code.
  func pair(_ code: ConnectionCode) async throws -> RelayGrant {
    let outcome = try await backend.ask(.login(word: code.word, code: code.code))
    guard case .loggedIn(let grant) = outcome else { throw NotPaired(outcome: outcome) }
    return grant
  }

  /// Connects a phone, and pairs an assistant with it. Returns the phone, its code, and the grant.
  func pairedPhone() async throws -> (RelayPhoneClient, ConnectionCode, RelayGrant) {
    let (phone, code) = try await RelayPhoneClient.open(self)
    return (phone, code, try await pair(code))
  }

  /// Asks `question` and returns the outcome.
  func answer(to grant: RelayGrant) async throws -> RelayOutcome {
    try await backend.ask(.question(Self.question), bearer: grant.accessToken)
  }

  struct NotPaired: Error {
    var outcome: RelayOutcome
  }

  static let question = HealthQuestion.summary(
    SummaryQuery(
      start: .instant(Timestamp(nanoseconds: 0), minutesEast: nil),
      end: .instant(Timestamp(nanoseconds: 86_400_000_000_000), minutesEast: nil)))

  static func object(_ text: String) -> HealthObject {
    HealthObject(
      succeeded: true, bytes: Array(#"{"success":true,"results":[],"text":"\#(text)"}"#.utf8))
  }
}
