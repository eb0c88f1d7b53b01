import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests that each fault has its documented effect and that a correct client recovers from it.
@Suite struct TroubleTests {
  private func clean(_ recording: Recording) {
    #expect(recording.outcome.findings.isEmpty)
  }

  @Test func `a half-open link carries nothing, and silence detects it`() {
    let recording = Recording(.short([(100, Action(.halfOpen)), (110, Action(.others, 3))]))
    clean(recording)
    let dead = recording.times { $0 == .wentDead(.phone, AttemptID(1)) }
    #expect(dead == [.second(100)])
    #expect(recording.frames(of: 1).allSatisfy { $0.at <= .second(100) })
    let closes = recording.effects.filter { $0.effect == .close(AttemptID(1), .silent) }
    #expect(closes.count == 1)
    // The last byte arrived with the server's ping at 54 s or with the upgrade.
    #expect(closes.allSatisfy { $0.at > .second(140) && $0.at <= .second(190) })
  }

  @Test(arguments: [true, false])
  func `a captive portal answers in place of the server`(_ isKnown: Bool) {
    let recording = Recording(
      .short([
        (100, Action(.captivePortal, 0, isKnown ? "known" : "unknown", for: .seconds(200))),
        (120, Action(.pullToRefresh)),
      ]))
    clean(recording)
    let isReported = recording.inputs.contains {
      $0.input.event == .device(.reachability(.captivePortal))
    }
    #expect(isReported == isKnown)
    let caught = recording.inputs.contains {
      if case .fetchFailed(_, .captivePortal) = $0.input { true } else { false }
    }
    #expect(caught)
  }

  @Test(arguments: [(30, 0), (54, 0), (80, 1)])
  func `a NAT mapping expires after a minute without a byte`(_ ping: Int, _ dead: Int) {
    let recording = Recording(
      .short([(75, Action(.mappingExpired))]) { $0.numbers.ping = .seconds(ping) })
    clean(recording)
    #expect(recording.times { $0 == .wentDead(.phone, AttemptID(1)) }.count == dead)
  }

  @Test func `responses arrive twice, and slow ones arrive out of order`() {
    var wasOvertaken = false
    for seed in UInt64(1)...20 {
      let plan = Plan.short(
        seed: seed,
        (1...20).map { ($0 * 20, Action(.pullToRefresh)) }
          + (1...20).map { ($0 * 25, Action(.reset)) }
      ) {
        $0.networkConditions.twice = 1
        $0.networkConditions.slow = 0.5
      }
      let recording = Recording(plan)
      clean(recording)
      let answers = recording.inputs.compactMap {
        if case .fetched(let id, _) = $0.input { id.number } else { nil }
      }
      #expect(Set(answers).count < answers.count)
      wasOvertaken = wasOvertaken || answers != answers.sorted()
    }
    #expect(wasOvertaken)
  }

  @Test func `a kill falls between a durable change and its acknowledgement`() {
    var between = 0
    for seed in UInt64(1)...60 {
      let plan = Plan.short(
        seed: seed, [(20, Action(.kill, for: .seconds(2))), (20, Action(.send))])
      let recording = Recording(plan)
      clean(recording)
      // A write takes 2 ms. If a change becomes durable later than the step that requested it, the
      // disk wrote it, not the end of the process. A kill in the same instant falls in between.
      var sentAt: Instant?
      var unconfirmed: Instant?
      for (at, observation) in recording.observations {
        switch observation {
        case .received(_, .send, _, _): sentAt = at
        case .fact(.stored): unconfirmed = sentAt.map { $0 < at } == true ? at : nil
        case .received(_, .committed, _, _): unconfirmed = nil
        case .killed: between += unconfirmed == at ? 1 : 0
        case .launched, .received, .ticked, .suspended, .resumed, .upgraded, .serverLost, .wentDead,
          .server,
          .began, .ended, .calm, .fact:
          continue
        }
      }
      // A durable message is sent at most once. A message that was not durable is never sent.
      #expect(recording.texts.count { $0 == "own 1" } <= 1)
    }
    #expect(between > 5)
  }

  @Test func `a suspended process receives nothing and has no timers`() {
    let recording = Recording(
      .short([(100, Action(.suspend, for: .seconds(100))), (150, Action(.others, 3))]))
    clean(recording)
    #expect(recording.times { $0 == .suspended(.phone) } == [.second(105)])
    #expect(recording.times { $0 == .resumed(.phone) } == [.second(200)])
    let meanwhile = recording.observations.filter { $0.at > .second(105) && $0.at < .second(200) }
    let steps = meanwhile.filter {
      switch $0.what {
      case .received, .ticked: true
      case _: false
      }
    }
    #expect(steps.isEmpty)
    #expect(recording.inputs.contains { $0.input.event == .device(.woke) })
  }

  @Test func `a handover ends the connection, and the device reports it`() {
    let recording = Recording(.short([(100, Action(.handover))]))
    clean(recording)
    #expect(recording.times { $0 == .wentDead(.phone, AttemptID(1)) } == [.second(100)])
    let path = LinkEvent.device(.reachability(.reachable(path: PathID("path-2"))))
    #expect(recording.inputs.contains { $0.input.event == path })
  }

  @Test(arguments: [(10, false), (21, true)])
  func `a socket survives a short black hole`(_ seconds: Int, _ isDead: Bool) {
    let recording = Recording(
      .short([(100, Action(.blackHole, for: .seconds(seconds))), (102, Action(.others, 3))]))
    clean(recording)
    #expect(recording.times { $0 == .wentDead(.phone, AttemptID(1)) }.isEmpty != isDead)
    let frames = recording.frames(of: 1).filter { $0.at > .second(100) }
    #expect(frames.allSatisfy { $0.at >= .second(100 + Double(seconds)) })
    #expect(frames.isEmpty == isDead)
  }

  @Test func `low bandwidth delays messages`() {
    let recording = Recording(
      .short([
        (99, Action(.narrow, 100, for: .seconds(100))), (100, Action(.others, 1)),
      ]))
    clean(recording)
    let frames = recording.inputs.filter {
      if case .frame = $0.input { $0.at > .second(99) } else { false }
    }
    #expect(frames.first.map { $0.at > .second(102) } == true)
  }

  @Test func `a crash resets open connections and refuses new ones`() {
    let recording = Recording(.short([(100, Action(.crash, for: .seconds(60)))]))
    clean(recording)
    #expect(recording.losses.first.map { $0.failure } == .reset)
    #expect(recording.losses.contains { $0.failure == .refused })
  }

  @Test(arguments: UInt64(1)...10)
  func `a server that dies between two effects comes back and stores each post once`(_ seed: UInt64)
  {
    let kill = Action(.kill, for: .seconds(20), at: .backend)
    let recording = Recording(
      .short(seed: seed, [(100, kill), (100, Action(.send)), (130, Action(.send))]))
    clean(recording)
    #expect(recording.losses.contains { $0.failure == .reset })
    #expect(recording.texts.filter { $0.hasPrefix("own") } == ["own 1", "own 2"])
  }

  @Test func `a deploy drains, and closes with 1001`() {
    let recording = Recording(.short([(100, Action(.deploy, for: .seconds(20)))]))
    clean(recording)
    let frames = recording.inputs.filter {
      if case .frame(_, .draining) = $0.input { true } else { false }
    }
    #expect(frames.count == 1)
    let failure = recording.losses.first?.failure
    if case .closed(code: 1001, _) = failure {} else { Issue.record("lost by \(failure as Any)") }
  }

  @Test(arguments: UInt64(1)...10)
  func `a durable post without an answer is stored once`(_ seed: UInt64) {
    for server in ServerKind.allCases {
      let recording = Recording(
        .short(
          seed: seed, server: server,
          [
            (100, Action(.dieAfterNextPost, for: .seconds(20))), (110, Action(.send)),
            (111, Action(.send)),
          ]))
      clean(recording)
      #expect(recording.texts.filter { $0.hasPrefix("own") } == ["own 1", "own 2"])
    }
  }

  @Test(arguments: TokenRefresh.allCases)
  func `revoked tokens are refused and refreshed`(_ refresh: TokenRefresh) {
    let recording = Recording(
      .short([
        (100, Action(.revokeTokens, 0, refresh.rawValue)), (101, Action(.reset)),
        (102, Action(.send)),
      ]))
    clean(recording)
    #expect(recording.effects.contains { $0.effect == .refreshCredentials })
    let wasRejected = recording.inputs.contains { $0.input == .credentials(.rejected) }
    #expect(wasRejected == (refresh == .isRefused))
    #expect(recording.texts.contains("own 1"))
  }

  @Test func `a removed member is disconnected, and returns later`() {
    let recording = Recording(.short([(100, Action(.removeMember, for: .seconds(60)))]))
    clean(recording)
    let failure = recording.losses.first?.failure
    if case .closed(code: 4403, _) = failure {} else { Issue.record("lost by \(failure as Any)") }
  }

  @Test func `a full store refuses changes, and a locked one everything`() {
    let full = Recording(
      .short([(100, Action(.storeFull, for: .seconds(60))), (110, Action(.others, 2))]))
    clean(full)
    #expect(full.inputs.contains { if case .commitFailed = $0.input { true } else { false } })
    let locked = Recording(
      .short([
        (100, Action(.storeLocked, for: .seconds(60))), (101, Action(.kill, for: .seconds(1))),
      ]))
    clean(locked)
    #expect(locked.inputs.contains { if case .loadFailed = $0.input { true } else { false } })
  }

  @Test(arguments: ServerKind.allCases)
  func `a message too large for the socket arrives over REST`(_ server: ServerKind) {
    let recording = Recording(.short(server: server, [(100, Action(.oversizedFrame))]))
    clean(recording)
    #expect(
      recording.inputs.contains { if case .oversized? = $0.input.event { true } else { false } })
    #expect(recording.texts.contains { $0.hasPrefix("large") })
    #expect(recording.outcome.counts[.shown] == recording.outcome.counts[.accepted])
  }

  @Test func `a new log is reported`() {
    let recording = Recording(
      .short([(100, Action(.beginAnew, 10)), (110, Action(.others, 3))]))
    clean(recording)
    let counts = recording.observations.compactMap {
      if case .fact(.beganAnew(_, let kept)) = $0.what { kept.count } else { nil }
    }
    #expect(counts == [10])
  }

  @Test func `clocks jump as planned`() {
    let recording = Recording(
      .short([
        (100, Action(.wallClock, by: .seconds(-50))), (200, Action(.background, for: .seconds(10))),
      ]))
    clean(recording)
    let walls = recording.inputs.compactMap {
      if case .link(.device(.lifecycle(.foreground)), let wall) = $0.input { wall } else { nil }
    }
    #expect(walls.count == 2)
    #expect(walls.first.map { $0.duration(to: walls[1]) } == .seconds(210 - 50))
  }
}

extension Recording {
  /// Returns the inputs from an attempt's socket, except for a close by the phone.
  func frames(of number: UInt64) -> [(at: Instant, input: StreamModel.Input)] {
    inputs.filter { _, input in
      if case .lost(_, .closed)? = input.event { false } else { input.belongs(to: number) }
    }
  }
}

extension StreamModel.Input {
  /// Returns whether the input came from the socket of an attempt.
  func belongs(to number: UInt64) -> Bool {
    let attempt: AttemptID? =
      switch self {
      case .opened(let attempt, _, _, _), .frame(let attempt, _): attempt
      case .link(let event, _): event.attempt
      case _: nil
      }
    return attempt == AttemptID(number)
  }
}
