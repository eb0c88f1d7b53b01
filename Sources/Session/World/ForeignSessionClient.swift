import HoldfastCore
import HoldfastLinkChecks
import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastWorldKernel

/// A scripted client of the server that is independent of the package's own client.
///
/// Only the ledger checks how the server treats it.
struct ForeignSessionClient: Sendable {
  /// The kinds of foreign clients.
  enum Kind: String, Sendable, CaseIterable {
    /// A client that presents the key and uses the original protocol without Holdfast's additions.
    case plain
    /// A client whose version is too old, or cannot be parsed.
    case old, unreadable
    /// A client that presents no key, a wrong key, or a proof for another connection's challenge.
    case keyless, foreignClient, replayer
    /// A client that signs its challenge with a clock error at the limit, or 1 ms beyond the limit.
    case early, tooEarly, late, tooLate
    /// A client that sends nothing, nothing after `connect`, or a prompt without `connect`.
    case silent, mute, hasty
    /// A client that sends malformed, unknown and inapplicable messages.
    case odd
    /// A client that subscribes with the cursors of both protocol versions. `reader` then
    /// subscribes to more conversations than permitted.
    case reader, oldReader
    /// A client that sends more prompts at once than permitted, or repeats prompts.
    case flooder, repeater
    /// A client that sends prompts of the maximum length and longer ones.
    case writer
    /// A client whose prompts make the program hang, ignore cancellation, or write too much.
    case hangs, deaf, floods, fills
    /// A client that does not read the messages that it receives.
    case slow
    /// A client that acknowledges messages that were sent to other clients.
    case taker
  }

  /// A step of a script.
  enum Step: Sendable {
    case say(SessionClientMessage)
    case enter(Handshake)
    case write(String)
    /// A pause that leaves time for an answer.
    case wait(Duration)
    /// The server detects that the client has too many unread messages.
    case read
    /// The client acknowledges messages that were sent to other clients.
    case take
  }

  /// The way in which a foreign client connects.
  enum Handshake: Sendable {
    case key(String, version: String?)
    /// A proof that is signed with a clock that differs from the server's by the given duration.
    case proof(by: Duration)
    case oldProof
  }

  let kind: Kind
  /// The name of the client and of its conversation.
  let name: String
  var steps: [Step]
  /// The last challenge that an earlier foreign client received.
  var oldChallenge = ""
  var challenge = ""
  var features: Set<SessionFeature>
  /// Whether the client answers the messages that it receives.
  var answers: Bool

  init(_ kind: Kind, number: UInt64) {
    self.kind = kind
    name = "g\(number)"
    features = kind == .plain || kind == .oldReader ? [] : Set(SessionFeature.allCases)
    answers = kind != .mute && kind != .silent
    steps = []
    steps = script() + [.wait(.seconds(kind.isPatient ? 150 : 5))]
  }
}

// The scripts.
extension ForeignSessionClient {
  private static let right = SessionWorld.key

  private func script() -> [Step] {
    let enter = Step.enter(.proof(by: .zero))
    switch kind {
    case .plain:
      return [
        .enter(.key(Self.right, version: nil)), .say(.setMaxMessageSize(kilobytes: 1)),
        prompt("1", key: nil), .wait(.seconds(3)), prompt("2", key: nil, isNew: false),
        .wait(.seconds(3)), .say(.disconnect(reason: "done")),
      ]
    case .old: return [.enter(.key(Self.right, version: "0.3.9"))]
    case .unreadable:
      return [
        .enter(.key(Self.right, version: "new")), ask(.offset(0, signature: nil)), .say(.ping),
      ]
    case .keyless: return [.say(.ping), .write(#"{"type":"connect"}"#)]
    case .foreignClient: return [.say(.ping), .enter(.key("holdfast-other", version: "0.5.0"))]
    case .replayer: return [.enter(.oldProof)]
    case .early: return [.enter(.proof(by: .seconds(30))), .say(.ping)]
    case .tooEarly: return [.enter(.proof(by: .seconds(30) + .milliseconds(1)))]
    case .late: return [.enter(.proof(by: .seconds(-30))), .say(.ping)]
    case .tooLate: return [.enter(.proof(by: .seconds(-30) - .milliseconds(1)))]
    case .silent: return []
    case .mute: return [enter]
    case .hasty: return [.say(.ping), prompt("1", key: 1)]
    case .hangs, .deaf, .floods, .fills: return [enter] + programs()
    case .odd, .reader, .oldReader: return [enter] + reads()
    case .flooder, .repeater, .writer, .slow, .taker: return [enter] + says()
    }
  }

  private func programs() -> [Step] {
    if kind == .fills {
      return [
        prompt("1 fills", key: 1), .wait(.seconds(2)), .say(.setMaxMessageSize(kilobytes: 16_384)),
        prompt("2 overflows", key: 2),
      ]
    }
    if kind == .floods {
      return [prompt("1 floods", key: 1), prompt("2", key: 2)]
    }
    if kind == .deaf {
      return [
        prompt("1 deaf", key: 1), .wait(.seconds(2)), .say(.killSession(conversation: name)),
        .say(.killSession(conversation: name)), prompt("2", key: 2),
      ]
    }
    // The first prompt ends at the time limit. The second ends because the client cancels it.
    return [
      prompt("1 hangs", key: 1), .wait(.seconds(330)), prompt("2 hangs", key: 2),
      .wait(.seconds(2)), .say(.killSession(conversation: name)),
    ]
  }

  private func reads() -> [Step] {
    if kind == .odd {
      return [
        .enter(.proof(by: .zero)), .say(.unknown(type: "dance")), .write("{}"), .write("no"),
        .write(#"{"type":"subscribe","session_id":"a","last_seq":-1}"#),
        .write(#"{"type":"subscribe_batch","sessions":7}"#),
        .write(#"{"type":"prompt","text":"g","new_session_id":"a","resume_session_id":"b"}"#),
        .write(#"{"type":"set_max_message_size","size_kb":0}"#),
        .say(.killSession(conversation: "nothing")), .say(.messageAck("unknown")),
        .say(.unsubscribe(conversation: "nothing")), .say(.ping),
      ]
    }
    if kind == .oldReader {
      return [ask(.offset(3, signature: "x")), ask(.sequence(0)), prompt("1", key: 1)]
    }
    let many = (0..<4).map {
      SessionSubscription(conversation: "\(name).\($0)", cursor: .offset(0, signature: nil))
    }
    return [
      ask(.sequence(1)), ask(.sequence(0)), ask(.offset(1_000, signature: nil)),
      ask(.offset(1, signature: "other")), .wait(.seconds(5)),
      .say(.unsubscribe(conversation: SessionsFeature.shared)), .wait(.seconds(60)),
      .say(.subscribeBatch(many)), .wait(.seconds(1)), .say(.subscribe(many[3])),
      prompt("1", key: 1, conversation: "\(name).0"), prompt("2", key: 2, isNew: true),
    ]
  }

  private func says() -> [Step] {
    if kind == .flooder {
      return (1...8).map { (number: Int) in
        prompt("\(number)", key: number, conversation: "\(name).\(number % 2)")
      }
        + [.wait(.seconds(3))] + (91...93).map { (number: Int) in prompt("\(number)", key: number) }
    }
    if kind == .repeater {
      return [
        prompt("1", key: 1), prompt("1", key: 1), .wait(.milliseconds(900)), prompt("1", key: 1),
        prompt("2", key: 1), .wait(.seconds(9)), prompt("1", key: 1), .wait(.seconds(30)),
        prompt("1", key: 1), prompt("1", key: 1, conversation: "other"),
      ]
    }
    if kind == .writer {
      return [
        prompt("1", key: 1, bytes: 524_288), prompt("2", key: 2, bytes: 524_289),
        prompt("3", key: 3, bytes: 100_000), prompt("4", key: 4, bytes: 100_001),
        prompt("5", key: 5, system: 131_049), prompt("6", key: 6, system: 131_050),
        prompt("7", key: 7, system: 1_000), prompt("8", key: 8, system: 1_001),
        prompt("9", key: 9, bytes: 99_999),
      ]
    }
    if kind == .slow {
      return [ask(.offset(0, signature: nil)), .read]
    }
    return (1...3).map { (number: Int) in prompt("\(number)", key: number) } + [
      .take, .wait(.seconds(20)), .take,
    ]
  }

  private func ask(_ cursor: SessionCursor) -> Step {
    .say(.subscribe(SessionSubscription(conversation: SessionsFeature.shared, cursor: cursor)))
  }

  private func prompt(
    _ text: String, key: Int?, isNew: Bool = true, conversation: String? = nil, bytes: Int = 0,
    system: Int? = nil
  ) -> Step {
    var text = "\(name).\(text)"
    if bytes > 0 { text += " " + String(of: "w", count: bytes - text.utf8.count - 1) }
    return .say(
      .prompt(
        SessionPrompt(
          text: text, conversation: conversation ?? name, isNew: isNew,
          idempotencyKey: key.map { number in "\(name)-key-\(number)" },
          number: key.map { UInt64($0) }, workingDirectory: "/tmp", provider: "none",
          systemPrompt: system.map { String(of: "s", count: $0) })))
  }
}

extension ForeignSessionClient.Kind {
  /// Whether the client stays connected for 150 s, not 5 s, at the end of its script.
  fileprivate var isPatient: Bool {
    switch self {
    case .silent, .mute, .hangs, .deaf, .reader, .oldReader, .early, .late: true
    case .plain, .old, .unreadable, .keyless, .foreignClient, .replayer, .tooEarly, .tooLate,
      .hasty,
      .odd, .flooder, .repeater, .writer, .floods, .fills, .slow, .taker:
      false
    }
  }
}
