import HoldfastCore
import HoldfastSessionData

/// Session protocol values that the tests share.
enum SessionSample {
  static let conversation = "7f0c1a52-5b0e-4c3e-9a51-0c1f7a3d2b10"
  static let entry = SessionEntry(
    id: "a-1", role: .assistant, text: "Hé \"you\"\n", conversation: conversation,
    timestamp: Sample.time, position: 7)
  static let numbered = SessionHistory(
    conversation: conversation, entries: [entry], extent: .sequence(first: 7, last: 7, next: 8),
    isComplete: false)
  static let pruned = SessionHistory(
    conversation: conversation, entries: [], extent: .sequence(first: nil, last: nil, next: 1),
    isComplete: true, gap: .init(requested: 9, oldest: 3, reason: .clientAhead))
  static let filed = SessionHistory(
    conversation: conversation, entries: [entry],
    extent: .offset(next: 8, signature: "12:a-1", isReplaced: true), isComplete: true)

  static let client: [SessionClientMessage] = [
    .connect(SessionConnect(session: "s", key: Secret("untethered-0"))),
    .connect(
      SessionConnect(
        session: "s", proof: Secret("ab"), timestamp: Sample.time, version: nil,
        recentSessionsLimit: 5, features: [.batch, .idempotency], received: 12)),
    .ping, .messageAck("m-1"),
    .prompt(SessionPrompt(text: "", conversation: conversation, isNew: true, idempotencyKey: nil)),
    .prompt(
      SessionPrompt(
        text: "two\nlines", conversation: conversation, isNew: false, idempotencyKey: "k",
        number: 3, workingDirectory: "/src", provider: "claude", systemPrompt: "be brief")),
    .subscribe(SessionSubscription(conversation: conversation, cursor: .sequence(4))),
    .subscribe(
      SessionSubscription(conversation: conversation, cursor: .offset(0, signature: "12:a-1"))),
    .subscribeBatch([]),
    .subscribeBatch([
      SessionSubscription(conversation: conversation, cursor: .sequence(0)),
      SessionSubscription(conversation: "other", cursor: .offset(2, signature: nil)),
    ]),
    .unsubscribe(conversation: conversation), .setMaxMessageSize(kilobytes: 200),
    .killSession(conversation: conversation), .disconnect(reason: "background"),
    .unknown(type: "refresh_sessions"),
  ]

  static let server: [SessionServerMessage] = [
    .hello(SessionHello(message: "hi", version: nil, authVersion: nil)),
    .hello(
      SessionHello(
        message: "hi", instructions: "connect", challenge: "00ff", timestamp: Sample.time,
        features: Set(SessionFeature.allCases))),
    .connected(SessionConnected(message: "", session: "s", version: .oldest)),
    .connected(
      SessionConnected(
        message: "in", session: "s", version: .newest, features: [.resume], received: 3,
        isRecovered: false)),
    .pong, .ack(message: "taken", idempotencyKey: nil), .ack(message: "", idempotencyKey: "k"),
    .response(SessionResponse(id: nil, conversation: nil, result: .success(text: ""))),
    .response(
      SessionResponse(
        id: "m-1", number: 4, conversation: conversation, idempotencyKey: "k",
        result: .failure(error: "interrupted"))),
    .responsePart(conversation: conversation, idempotencyKey: "k", index: 0, text: "He"),
    .error(SessionError(message: "no")),
    .error(
      SessionError(
        message: "too old", code: SessionError.unsupportedVersion, required: .oldest,
        received: "0.3.0")),
    .error(
      SessionError(
        message: "busy", code: "busy", conversation: conversation, idempotencyKey: "k")),
    .authError(message: "Authentication failed"),
    .replay(
      id: "a-1", SessionEntry(id: "a-1", role: .user, text: "", conversation: "c"), number: 9),
    .turnComplete(conversation: conversation, isAborted: true),
    .turnComplete(conversation: conversation, isAborted: false),
    .history(numbered), .history(pruned), .history(filed), .historyBatch([]),
    .historyBatch([numbered, filed]), .heartbeat(Sample.time), .heartbeat(nil),
    .draining(message: "restart", retryAfter: .seconds(5), window: nil),
    .draining(message: "", retryAfter: .zero, window: .milliseconds(1_500)),
    .sessionKilled(conversation: conversation), .unknown(type: "available_commands"),
  ]
}
