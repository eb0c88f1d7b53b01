/// A behavior that the audit tests, with a recommendation for servers that lack it.
public enum Probe: String, Sendable, Hashable, CaseIterable {
  case applicationPing, protocolPing, roundTrips, closing, compression
  case typed, naming, version, oldVersion, olderHistory
  case early, wrongKey, missingKey, keyAgain
  case challenge, challengeTaken, challengeOnce
  case promptAck, promptRefused, messageID, ackQuiet, replay, ackEnds, order, places
  case sameKey, delta, batch, stamps
  case sizeTaken, truncation, hugeFrame, bystander, congestion
  case malformed, untyped, unknownType, binary, distinctErrors
  case heartbeat, silentClient, strangerClosed
  case takeover, burst, health, metrics, announced, encrypted

  /// The gap to report if the behavior is missing.
  public var gap: String {
    switch self {
    case .applicationPing: "`ping` is not answered with `pong`"
    case .protocolPing: "a WebSocket ping is not answered"
    case .roundTrips: "round trips cannot be measured: pings are lost or late"
    case .closing: "a close frame is not answered"
    case .compression: "permessage-deflate is not taken, or not used"
    case .typed: "messages without a `type`, or none at all"
    case .naming: "names of members are not all in snake_case"
    case .version: "the protocol's version is not announced and negotiated"
    case .oldVersion: "a version that is too old is not refused with a code"
    case .olderHistory: "version 0.4.0 is not spoken"
    case .early: "a message before `connect` is not refused with `auth_error` and a close"
    case .wrongKey: "a wrong key or proof is not refused with `auth_error` and a close"
    case .missingKey: "a missing key is not refused with `auth_error` and a close"
    case .keyAgain: "the key does not work on a second connection"
    case .challenge: "`hello` holds no challenge"
    case .challengeTaken: "a signed challenge is not accepted, or any other text is"
    case .challengeOnce: "an answer to a challenge of another connection may be accepted"
    case .promptAck: "a prompt is not confirmed with `ack`"
    case .promptRefused: "a prompt that is not valid is not refused"
    case .messageID: "responses have no `message_id` of their own"
    case .ackQuiet: "`message_ack` causes an error"
    case .replay: "a response that was not acknowledged is not replayed"
    case .ackEnds: "an acknowledged response comes again"
    case .order: "responses are not in the order of their prompts"
    case .places: "messages of a history have no stable numbers"
    case .sameKey: "a prompt that comes twice under the same key has its effect twice"
    case .delta: "`subscribe` with a cursor does not return the difference alone"
    case .batch: "`subscribe_batch` is not answered with all its conversations"
    case .stamps: "messages of a history have no time, or an impossible one"
    case .sizeTaken: "`set_max_message_size` is not confirmed"
    case .truncation: "a response is longer than the size that the client set"
    case .hugeFrame: "a frame that announces 1 TiB does not end its connection"
    case .bystander: "a frame that is too large ends other connections"
    case .congestion: "a ping after much data is answered late, or after all of it"
    case .malformed: "malformed JSON causes no error, or ends the connection"
    case .untyped: "a message without a type causes no error, or ends the connection"
    case .unknownType: "an unknown type causes no error, or ends the connection"
    case .binary: "a binary message causes no error, or ends the connection"
    case .distinctErrors: "errors of authentication and of the protocol are not told apart"
    case .heartbeat: "the server sends no regular signs of life"
    case .silentClient: "a client that sends nothing for some time is disconnected"
    case .strangerClosed: "a connection that never authenticates is kept"
    case .takeover: "a session is not taken over by a second connection"
    case .burst: "connections in quick succession are neither accepted nor asked to return later"
    case .health: "there is no `/healthz` or `/health` to check a network with"
    case .metrics: "there are no metrics"
    case .announced: "no features are announced"
    case .encrypted: "the connection is not encrypted"
    }
  }

  /// The recommendation that closes the gap.
  public var remedy: String {
    switch self {
    case .applicationPing: "answer `ping` with `pong`, also before `connect`"
    case .protocolPing: "answer WebSocket pings (RFC 6455 section 5.5.2)"
    case .roundTrips: "answer each ping at once and in order"
    case .closing: "answer a close frame with one (RFC 6455 section 5.5.1)"
    case .compression: "negotiate permessage-deflate (RFC 7692), and compress from 1 KiB on"
    case .typed: "give each message a `type`"
    case .naming: "use snake_case for every member"
    case .version: "send `version` in `hello` and `negotiated_protocol_version` in `connected`"
    case .oldVersion: "answer with `error`, code `unsupported_protocol_version`, and close"
    case .olderHistory: "serve `last_seq` and `seq` to clients of 0.4.0"
    case .early, .wrongKey, .missingKey: "answer with `auth_error`, then close"
    case .keyAgain: "let a key outlive the connection"
    case .challenge: "send a random `challenge` in `hello`"
    case .challengeTaken: "accept HMAC-SHA256 of the challenge in `challenge_response`"
    case .challengeOnce: "use each challenge once, for the connection that it was sent on"
    case .promptAck: "answer a prompt with `ack` once it is stored"
    case .promptRefused: "answer with `error` and say what is wrong"
    case .messageID: "put a unique `message_id` into each response"
    case .ackQuiet: "handle `message_ack` as specified"
    case .replay: "keep responses for their `session_id` until `message_ack`"
    case .ackEnds: "remove a response once it is acknowledged"
    case .order: "run the prompts of a conversation one after the other"
    case .places: "number messages with `seq` or `offset`"
    case .sameKey: "remember `idempotency_key` before the effect"
    case .delta: "send only the messages after the cursor"
    case .batch: "answer several subscriptions in one `session_history_batch`"
    case .stamps: "put the server's time into each message"
    case .sizeTaken: "confirm the size with `ack`"
    case .truncation: "cut responses, or send them in pieces"
    case .hugeFrame: "bound the length of a frame before its content is read, and close with 1009"
    case .bystander: "end only the connection that sent it"
    case .congestion: "send control messages before others"
    case .malformed, .untyped, .unknownType, .binary: "answer with `error` and go on"
    case .distinctErrors: "use `auth_error` for keys, and `error` with a code for the rest"
    case .heartbeat: "send `heartbeat` every 45 s"
    case .silentClient: "end a connection only after several missed answers"
    case .strangerClosed: "close a connection that sends no `connect` within 30 s"
    case .takeover: "accept the same `session_id` on another path"
    case .burst: "answer 429 or 503 with `Retry-After`"
    case .health: "serve `GET /healthz`"
    case .metrics: "serve `GET /metrics`"
    case .announced: "list the features in `hello`"
    case .encrypted: "use wss://"
    }
  }
}
