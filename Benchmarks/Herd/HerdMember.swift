import HoldfastCore

/// A client and its connection to the server.
struct HerdMember<Client: HerdClient>: Sendable {
  private(set) var client: Client
  private var generator: RandomSource
  private var wake = Instant.never
  private var line = Line()
  private var poll = Poll()

  /// A client's connection, or its attempt to open one.
  private struct Line {
    var stage = Stage.down
    /// The time of the connection's next event.
    var at = Instant.never
    /// The number of the attempt. A mismatch shows the queue that the client has abandoned the
    /// attempt.
    var number: UInt32 = 0
    /// The round-trip time, in nanoseconds.
    var roundTrip: Int64 = 0
  }

  private enum Stage: UInt8 {
    case down, connected, toBeNotified, toBeClosed
    case toServer, unanswered, accepted, refused, busy
  }

  private struct Poll {
    var at = Instant.never
    var roundTrip: Int64 = 0
    var isAnswer = false
    var failed = false
  }

  init(_ client: Client, seed: UInt64) {
    self.client = client
    generator = RandomSource(seed: seed)
  }

  /// The time of the client's next event.
  var next: Instant { min(wake, line.at, poll.at) }

  /// Simulates a connection that was opened before the outage and has been pinged since.
  mutating func warmUp(for time: Duration, _ door: inout HerdDoor, _ counts: inout HerdCounts) {
    let age = time + generator.duration(below: HerdPlan.pingInterval)
    var now = Instant.zero.advanced(by: .zero - age)
    line.stage = .connected
    report(.start, at: now, &counts)
    while now < .zero {
      while next < min(now, .zero) { step(index: 0, &door, &counts) }
      if line.stage == .connected { report(.heard, at: now, &counts) }
      now = now.advanced(by: HerdPlan.pingInterval)
    }
    while next < .zero { step(index: 0, &door, &counts) }
    guard line.stage == .connected else { return }
    counts.connectedBefore += 1
    guard door.outage.loss != nil else { return }
    line.stage = .toBeNotified
    line.at = Instant(nanoseconds: drawRoundTrip() / 2)
  }

  /// Processes the earliest event.
  mutating func step(index: Int, _ door: inout HerdDoor, _ counts: inout HerdCounts) {
    let now = next
    if line.at == now {
      advanceLine(index: index, at: now, &door, &counts)
    } else if poll.at == now {
      advancePoll(at: now, door, &counts)
    } else {
      var errands = Errands(now: now, pathAnswers: now < .zero)
      client.tick(&errands)
      carry(errands, &counts)
    }
  }

  /// Accepts the client from the queue. Returns false if the client has already given up.
  mutating func letIn(_ number: UInt32, at now: Instant) -> Bool {
    guard line.stage == .unanswered, line.number == number else { return false }
    answer(.accepted, at: now)
    return true
  }

  private mutating func advanceLine(
    index: Int, at now: Instant, _ door: inout HerdDoor, _ counts: inout HerdCounts
  ) {
    switch line.stage {
    case .toBeNotified where door.outage.cause == .drain:
      line.stage = .toBeClosed
      line.at = now.advanced(by: Outage.drainGrace)
      report(.draining(within: Outage.drainWindow), at: now, &counts)
    case .toBeNotified, .toBeClosed: lose(door.outage.loss ?? .reset, at: now, &counts)
    case .toServer: arrive(index: index, at: now, &door, &counts)
    case .accepted: enter(at: now, &counts)
    case .refused: lose(door.outage.answer ?? .refused, at: now, &counts)
    case .busy: lose(HerdDoor.busy, at: now, &counts)
    case .down, .connected, .unanswered:
      preconditionFailure("nothing happens on a line that waits for nothing: its time is never")
    }
  }

  private mutating func arrive(
    index: Int, at now: Instant, _ door: inout HerdDoor, _ counts: inout HerdCounts
  ) {
    counts.note(now) { $0.tries += 1 }
    if door.isAway(at: now) {
      answer(door.outage.answer == nil ? .unanswered : .refused, at: now)
      return
    }
    switch door.admit(index, line.number, at: now) {
    case .accepted:
      counts.note(now) { $0.accepted += 1 }
      answer(.accepted, at: now)
    case .busy:
      counts.note(now) { $0.refused += 1 }
      answer(.busy, at: now)
    case .queued: answer(.unanswered, at: now)
    }
  }

  private mutating func answer(_ stage: Stage, at now: Instant) {
    line.stage = stage
    line.at =
      stage == .unanswered
      ? .never : Instant(nanoseconds: now.nanoseconds + line.roundTrip / 2)
  }

  private mutating func enter(at now: Instant, _ counts: inout HerdCounts) {
    line.stage = .connected
    line.at = .never
    report(.opened, at: now, &counts)
    guard now >= .zero, client.isConnected else { return }
    // Later events of the client do not matter for the outage.
    counts.noteBack(at: now)
    wake = .never
    line.at = .never
    poll.at = .never
  }

  private mutating func lose(
    _ failure: LinkFailure, at now: Instant, _ counts: inout HerdCounts
  ) {
    if line.stage != .refused, line.stage != .busy { counts.note(now) { $0.losses += 1 } }
    line.stage = .down
    line.at = .never
    report(.lost(failure), at: now, &counts)
  }

  private mutating func advancePoll(
    at now: Instant, _ door: HerdDoor, _ counts: inout HerdCounts
  ) {
    guard !poll.isAnswer else {
      poll.at = .never
      let failure = poll.failed ? door.outage.answer ?? .timeout(.response) : nil
      report(.polled(failure), at: now, &counts)
      return
    }
    counts.note(now) { $0.polls += 1 }
    poll.isAnswer = true
    poll.failed = door.isAway(at: now)
    poll.at =
      poll.failed && door.outage.answer == nil
      ? now.advanced(by: HerdPlan.pollTimeout)
      : Instant(nanoseconds: now.nanoseconds + poll.roundTrip / 2)
  }

  private mutating func report(_ news: HerdNews, at now: Instant, _ counts: inout HerdCounts) {
    var errands = Errands(now: now, pathAnswers: now < .zero)
    client.take(news, &errands)
    carry(errands, &counts)
  }

  private mutating func carry(_ errands: Errands, _ counts: inout HerdCounts) {
    if errands.closes {
      if line.stage == .accepted { counts.note(errands.now) { $0.wasted += 1 } }
      if line.stage == .connected { counts.note(errands.now) { $0.losses += 1 } }
      line.stage = .down
      line.at = .never
    }
    if errands.opens {
      line.number += 1
      line.roundTrip = drawRoundTrip()
      line.stage = .toServer
      line.at = Instant(nanoseconds: errands.now.nanoseconds + line.roundTrip)
    }
    if errands.polls {
      let time = drawRoundTrip()
      let at = Instant(nanoseconds: errands.now.nanoseconds + time)
      poll = Poll(at: at, roundTrip: time)
    }
    wake = client.deadline ?? .never
  }

  private mutating func drawRoundTrip() -> Int64 {
    HerdPlan.shortestTrip + Int64(Double(HerdPlan.tripJitter) * generator.unit())
  }
}

extension Instant {
  /// An instant that is later than every other instant.
  static let never = Instant(nanoseconds: .max)
}
