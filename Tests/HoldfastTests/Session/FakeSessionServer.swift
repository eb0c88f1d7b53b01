import HoldfastSessionData
import HoldfastTestKit

/// The server's end of a session's connection on a `FakeNetwork`. It supports idempotency keys.
struct FakeSessionServer {
  let socket: FakeSocket

  private static let features: Set<SessionFeature> = [.idempotency]

  /// Accepts the session of a client.
  init(accepting socket: FakeSocket) async {
    self.socket = socket
    await socket.accept()
    await send(.hello(SessionHello(message: "hi", features: Self.features)))
    await send(
      .connected(
        SessionConnected(
          message: "", session: "s", version: .newest, features: Self.features, isRecovered: nil)))
  }

  func send(_ message: SessionServerMessage) async { await socket.send(text: message.bytes) }

  /// Returns the client's next prompt. Other messages before it are dropped.
  func nextPrompt() async throws -> SessionPrompt {
    while true {
      let text = try await socket.nextText()
      if case .prompt(let prompt) = try SessionClientMessage.read(Array(text.utf8)) {
        return prompt
      }
    }
  }

  /// Answers a prompt.
  func answer(
    _ prompt: SessionPrompt, _ result: SessionResponse.Result, as id: String = "answer"
  ) async {
    await send(
      .response(
        SessionResponse(
          id: id, conversation: prompt.conversation, idempotencyKey: prompt.idempotencyKey,
          result: result)))
  }

  /// Sends an answer to no prompt of the client. Its text is its number.
  func sendOther(_ number: Int) async {
    await send(
      .response(
        SessionResponse(
          id: "m\(number)", conversation: "c", idempotencyKey: nil,
          result: .success(text: "\(number)"))))
  }
}
