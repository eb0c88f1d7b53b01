public import HoldfastCore
import HoldfastSessionData

/// All scripts of an audit.
public struct AuditPlan: Sendable {
  /// The scripts, in no particular order. Their phases determine when each script may run.
  public let scripts: [AuditScript]

  /// The number of connections that are opened at once to test how a server handles a burst.
  static let burst = 20
  /// The time within which a server must respond.
  static let timeLimit = Duration.seconds(3)
  /// The maximum time for handling a prompt.
  static let work = Duration.seconds(12)
  /// The time to wait for a server's heartbeat, which is sent every 45 s.
  static let heartbeat = Duration.seconds(48)
  /// The time to wait until the server closes a connection that does not authenticate.
  static let stranger = Duration.seconds(50)
  /// The size limit that is requested for responses, in units of 1,024 bytes, and the size of a
  /// longer text, in bytes.
  static let size = (kilobytes: 50, text: 60_000)

  /// Creates the scripts.
  ///
  /// - Parameter generator: The random source for identifiers.
  public init(generator: RandomSource) {
    var draw = Draw(generator: generator)
    scripts =
      Self.strangers(&draw) + Self.refusals(&draw) + [Self.login(&draw), Self.main(&draw)]
      + Self.logins(&draw) + Self.loads(&draw)
  }

  /// A generator of identifiers and prompts.
  private struct Draw {
    var generator: RandomSource

    mutating func id() -> String { UUID128.random(using: &generator).description }
    mutating func prompt(
      _ text: String, in conversation: String, isNew: Bool, key: String? = nil
    ) -> SessionPrompt {
      SessionPrompt(
        text: text, conversation: conversation, isNew: isNew, idempotencyKey: key ?? id())
    }
  }
}

// MARK: Pieces

extension AuditPlan {
  private typealias Step = AuditScript.Step

  /// Returns steps that open a connection and wait for `hello`.
  private static func open(_ socket: Int) -> [Step] {
    [
      .open(socket), .expect([.opened], count: 1, within: .seconds(5), orStop: true),
      .expect([.message("hello")], count: 1, within: timeLimit, orStop: false),
    ]
  }

  /// Returns steps that open a connection and authenticate. The script ends if authentication
  /// fails.
  private static func connect(_ socket: Int, _ login: AuditScript.Login) -> [Step] {
    open(socket) + [
      .say([.connect(login)]),
      .expect([.message("connected")], count: 1, within: .seconds(5), orStop: true),
    ]
  }

  private static func say(
    _ sayings: [AuditScript.Saying], for types: [String], count: Int = 1,
    within limit: Duration = timeLimit
  ) -> [Step] {
    [
      .say(sayings),
      .expect(types.map { .message($0) }, count: count, within: limit, orStop: false),
    ]
  }

  /// Returns steps that send a prompt and wait for the confirmation and the response.
  private static func ask(_ prompt: SessionPrompt) -> [Step] {
    say([.message(.prompt(prompt))], for: ["ack", "response", "error"]) + [
      .expect([.message("response"), .message("error")], count: 1, within: work, orStop: false)
    ]
  }

  /// Steps that send a ping and wait for the pong. All earlier messages have then been answered.
  private static let barrier = say([.message(.ping)], for: ["pong"])

  /// Steps that send a close frame with code 1000 (RFC 6455 section 5.5.1), masked with zeros, and
  /// wait for the end.
  private static let leave: [Step] = [
    .raw([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8], "a close frame with code 1000"),
    .expect([.end], count: 1, within: timeLimit, orStop: false),
  ]
}

// MARK: Without a key

extension AuditPlan {
  private static func strangers(_ draw: inout Draw) -> [AuditScript] {
    let frame: Step = .raw(
      [0x81, 0xFF, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      "the header of a text frame of 1 TiB without its content")
    return [
      script(.opening, .first, open(0) + [.ping, .expect([.pong], within: timeLimit)] + leave),
      script(.pings, .first, open(0) + Array(repeating: pinged, count: 10).flatMap { $0 }),
      script(
        .stranger, .first,
        open(0) + [.expect([.end], within: stranger)]
          + [.ping, .expect([.pong], within: timeLimit)]),
      script(
        .huge, .first,
        open(0) + open(1) + [frame, .expect([.end], within: .seconds(5)), .use(0), .ping]
          + [.expect([.pong], within: timeLimit)]),
      script(
        .garbage, .first,
        open(0) + [.say([.text(malformed)]), .expect([.anything, .end], within: timeLimit)]
          + [.ping, .expect([.pong], within: timeLimit)] + open(1)
          + [.say([.text(longPing)]), .expect([.anything, .end], within: timeLimit)]),
    ]
  }

  /// A `ping` that is long enough to be compressed if a server echoes it.
  private static let longPing =
    #"{"type":"ping","padding":"\#(String(repeating: "0123456789", count: 200))"}"#

  private static let pinged: [Step] = [
    .say([.message(.ping)]),
    .expect([.message("pong")], count: 1, within: timeLimit, orStop: true),
  ]
  private static let malformed = #"{"type":"prompt","text":"#

  /// Returns scripts that send messages that a server must refuse.
  private static func refusals(_ draw: inout Draw) -> [AuditScript] {
    let early = AuditScript.Saying.message(.unsubscribe(conversation: draw.id()))
    let reading = AuditScript.Saying.message(
      .subscribe(SessionSubscription(conversation: draw.id(), cursor: .sequence(0))))
    let end: Step = .expect([.end], within: .seconds(5))
    let wrong = AuditScript.Login(session: draw.id(), proof: .wrongKey)
    let wrongAnswer = AuditScript.Login(session: draw.id(), proof: .wrongAnswer)
    let missing = AuditScript.Login(session: draw.id(), proof: .none)
    let old = AuditScript.Login(session: draw.id(), version: "0.3.0")
    let twice = AuditScript.Login(session: draw.id())
    return [
      script(
        .early, .third,
        open(0) + [.say([early]), end] + open(1) + [.say([reading]), end]),
      script(
        .wrongKey, .third,
        open(0) + [.say([.connect(wrong)]), end] + open(1) + [.say([.connect(wrongAnswer)]), end]),
      script(.missingKey, .third, open(0) + [.say([.connect(missing)]), end]),
      script(
        .burst, .third,
        (0..<burst).map { .open($0) } + [
          .expect([.opened, .end], count: burst, within: .seconds(10), orStop: false)
        ]),
      script(.oldVersion, .third, needsLogin: true, open(0) + [.say([.connect(old)]), end]),
      script(
        .challengeTwice, .third, needsLogin: true,
        connect(0, twice) + open(1) + [.say([.connectOf(0)])]
          + [.expect([.end, .message("connected")], within: .seconds(5))]),
    ]
  }
}

// MARK: With a key

extension AuditPlan {
  private static func login(_ draw: inout Draw) -> AuditScript {
    let answer: Step = .expect(
      [.message("connected"), .message("auth_error"), .end], within: .seconds(5))
    let (best, key) = (draw.id(), draw.id())
    // The key itself is sent only to a server that refuses the answer to its own challenge.
    return script(
      .login, .first, needsLogin: true,
      open(0) + [.say([.connect(.init(session: best))]), answer] + leave + [.endIf("connected")]
        + open(1) + [.say([.connect(.init(session: key, proof: .key))]), answer] + leave)
  }

  private static func main(_ draw: inout Draw) -> AuditScript {
    let (one, other, key) = (draw.id(), draw.id(), draw.id())
    let first = draw.prompt("audit: one", in: one, isNew: true, key: key)
    let second = draw.prompt("audit: two", in: one, isNew: false)
    let third = draw.prompt("audit: three", in: one, isNew: false)
    func subscription(_ offset: UInt64, _ conversation: String) -> SessionSubscription {
      SessionSubscription(
        conversation: conversation, cursor: .offset(offset, signature: nil))
    }
    let bad = #"{"type":"prompt","resume_session_id":"\#(one)"}"#
    let batch = [subscription(0, one), subscription(0, other)]
    return script(
      .main, .second, needsLogin: true,
      connect(0, .init(session: draw.id(), features: [.batch])) + ask(first) + [.say([.ack])]
        + barrier + ask(first) + [.say([.ack])] + barrier
        + say(
          [.message(.prompt(second)), .message(.prompt(third))], for: ["response"], count: 2,
          within: work)
        + say([.message(.subscribe(subscription(0, one)))], for: ["session_history", "error"])
        + say([.message(.subscribe(subscription(2, one)))], for: ["session_history", "error"])
        + say([.message(.subscribeBatch(batch))], for: ["session_history_batch", "error"])
        + say([.text(bad)], for: ["error", "response"]) + barrier + leave)
  }

  /// Returns scripts that test sessions and other ways to authenticate.
  private static func logins(_ draw: inout Draw) -> [AuditScript] {
    let older = AuditScript.Login(session: draw.id(), version: "0.4.0")
    let (conversation, taken) = (draw.id(), draw.id())
    let question = draw.prompt("audit: older", in: conversation, isNew: true)
    let histories = [0, 1].map {
      SessionSubscription(conversation: conversation, cursor: .sequence($0))
    }
    let kept = AuditScript.Login(session: draw.id())
    let lost = draw.prompt("audit: lost", in: draw.id(), isNew: true)
    let takeover = AuditScript.Login(session: taken)
    return [
      script(
        .olderHistory, .second, needsLogin: true,
        connect(0, older) + ask(question)
          + histories.flatMap {
            say([.message(.subscribe($0))], for: ["session_history", "error"])
          }),
      script(
        .replay, .second, needsLogin: true,
        connect(0, kept) + say([.message(.prompt(lost))], for: ["ack", "response", "error"])
          + [.drop, .pause(.seconds(1))] + connect(1, kept) + [delivery(within: .seconds(8))]
          + barrier + [.drop] + connect(2, kept) + [delivery(within: timeLimit), .say([.ack])]
          + barrier + [.drop] + connect(3, kept) + [.pause(.seconds(1))] + barrier),
      script(
        .takeover, .second, needsLogin: true,
        connect(0, takeover) + connect(1, takeover) + barrier),
    ]
  }

  private static func delivery(within limit: Duration) -> Step {
    .expect([.message("replay"), .message("response")], within: limit)
  }

  /// Returns scripts that test sizes, load, time limits and invalid messages.
  private static func loads(_ draw: inout Draw) -> [AuditScript] {
    let long = String(repeating: "0123456789", count: size.text / 10)
    let whole = draw.prompt(long, in: draw.id(), isNew: true)
    let big = draw.prompt(long, in: draw.id(), isNew: true)
    let many = (0..<8).map { _ in
      AuditScript.Saying.message(
        .prompt(draw.prompt(String(long.prefix(20_000)), in: draw.id(), isNew: true)))
    }
    let faults: [AuditScript.Saying] = [
      .text(malformed), .text(#"{"text":"no type"}"#), .text(#"{"type":"audit_unknown"}"#),
      .binary([0xFF, 0x00, 0xFE]),
    ]
    let tried = faults.enumerated().flatMap { socket, fault in
      connect(socket, .init(session: draw.id())) + [
        .say([fault]),
        .expect([.message("error"), .message("auth_error"), .end], within: timeLimit),
      ] + barrier + [.drop]
    }
    return [
      script(
        .size, .second, needsLogin: true,
        connect(0, .init(session: draw.id())) + ask(whole)
          + say([.message(.setMaxMessageSize(kilobytes: size.kilobytes))], for: ["ack", "error"])
          + ask(big)),
      script(.faults, .second, needsLogin: true, tried),
      script(
        .congestion, .second, needsLogin: true,
        connect(0, .init(session: draw.id()))
          + say(many + [.message(.ping)], for: ["pong"], within: .seconds(10)) + [
            .expect([.message("response")], count: many.count, within: work, orStop: false)
          ]),
      script(
        .idle, .second, needsLogin: true,
        connect(0, .init(session: draw.id(), features: [.heartbeat])) + [
          .expect([.end], within: heartbeat)
        ] + barrier),
    ]
  }

  private static func script(
    _ name: AuditScript.Name, _ phase: AuditScript.Phase, needsLogin: Bool = false,
    _ steps: [Step]
  ) -> AuditScript {
    AuditScript(name: name, phase: phase, needsLogin: needsLogin, steps: steps)
  }
}

extension AuditScript.Step {
  /// Returns a step that waits for one of several events. The script continues even if none occurs.
  fileprivate static func expect(
    _ awaited: [AuditScript.Awaited], within limit: Duration
  ) -> AuditScript.Step {
    .expect(awaited, count: 1, within: limit, orStop: false)
  }
}
