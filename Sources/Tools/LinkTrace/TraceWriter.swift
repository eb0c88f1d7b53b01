public import HoldfastCore
package import HoldfastJSON

/// The first line of a trace.
public struct TraceHeader: Sendable, Hashable {
  /// The origin of the trace.
  public var source: Source
  /// The name of the machine in journals, such as `message-stream`.
  public var machine: String
  /// The name that a person gives to the link.
  public var name: String
  /// The wall-clock time at the beginning.
  public var startedAt: Timestamp
  /// The length of the trace.
  public var end: Duration
  /// The policy of the link.
  public var policy: LinkPolicy
  /// The seed of a simulated run.
  public var seed: UInt64?
  /// The number of the app's run, counted from 1; `nil` if no other run of the link is known.
  public var run: Int?
  /// Whether the trace contains facts about the network and the server.
  public var hasWorld: Bool

  /// An origin of traces.
  public enum Source: String, Sendable, Hashable, CaseIterable {
    case journal, simulator, demo, live
  }

  /// Creates a header.
  public init(
    _ source: Source, machine: String, name: String, startedAt: Timestamp, end: Duration,
    policy: LinkPolicy, seed: UInt64? = nil, run: Int? = nil, hasWorld: Bool = false
  ) {
    (self.source, self.machine, self.name) = (source, machine, name)
    (self.startedAt, self.end, self.policy) = (startedAt, end, policy)
    (self.seed, self.run, self.hasWorld) = (seed, run, hasWorld)
  }
}

/// A writer of traces in version 1 of the format: JSON Lines with a header and one line for each
/// fact.
public enum TraceWriter {
  /// The version of the format.
  public static let version = 1

  /// Returns the text of a trace.
  public static func text(_ header: TraceHeader, _ facts: [TraceFact]) -> [UInt8] {
    var bytes = line(header) + [UInt8(ascii: "\n")]
    for fact in facts { bytes += line(fact) + [UInt8(ascii: "\n")] }
    return bytes
  }

  /// Returns a time as a decimal number of seconds with at most six decimals, rounded down, as JSON
  /// contains it.
  public static func seconds(_ time: Duration) -> String {
    let microseconds = time.nanoseconds / 1_000
    let digits = String(microseconds.magnitude)
    let padded = String(repeating: "0", count: max(0, 7 - digits.count)) + digits
    var text = (microseconds < 0 ? "-" : "") + padded.dropLast(6)
    let fraction = padded.suffix(6)
    if let last = fraction.lastIndex(where: { $0 != "0" }) { text += "." + fraction[...last] }
    return text
  }

  /// Returns the line of a header, without its end.
  public static func line(_ header: TraceHeader) -> [UInt8] {
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    writer.entry("trace", version)
    writer.entry("source", header.source.rawValue)
    writer.entry("machine", header.machine)
    writer.entry("name", header.name)
    writer.entry("startedAt", RFC3339.format(header.startedAt))
    writer.time("end", header.end)
    if let seed = header.seed { writer.entry("seed", String(seed)) }
    if let run = header.run { writer.entry("run", run) }
    if header.hasWorld { writer.entry("world", true) }
    writer.key("policy")
    write(header.policy, to: &writer)
    writer.endObject()
    return writer.bytes
  }

  /// Writes the values that the picture draws, the schedules in words, and all values as text.
  private static func write(_ policy: LinkPolicy, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.entry("name", policy.name)
    if policy.holdsLink {
      writer.time("silence", policy.liveness.silence)
      writer.time("ping", policy.liveness.ping)
      writer.time("pongTimeout", policy.liveness.pongTimeout)
    }
    writer.entry("first", PolicyWords.of(policy.retry.first))
    writer.entry("reconnect", PolicyWords.of(policy.retry.reconnect))
    writer.object("values") { for (key, value) in policy.values { $0.entry(key, value) } }
    writer.endObject()
  }

  /// Returns the line of a fact, without its end.
  public static func line(_ fact: TraceFact) -> [UInt8] {
    var writer = JSONWriter(capacity: 192)
    writer.beginObject()
    writer.time("t", fact.at)
    if let until = fact.until { writer.time("until", until) }
    writer.entry("lane", fact.event.lane.rawValue)
    writer.entry("kind", fact.event.kind)
    writer.entry("say", fact.say)
    if let cause = fact.cause { writer.entry("by", cause) }
    if let line = fact.line { writer.entry("line", line) }
    if let attempt = fact.attempt { writer.entry("attempt", attempt.number) }
    write(fact.event, to: &writer)
    writer.endObject()
    return writer.bytes
  }

  private static func write(_ event: TraceEvent, to writer: inout JSONWriter) {
    switch event {
    case .state(let state): write(state, to: &writer)
    case .end(let why, let isLost):
      writer.entry("why", why)
      writer.entry("lost", isLost)
    case .phases(let from, let opening): write(opening, from: from, to: &writer)
    case .incoming(let bytes?), .outgoing(let bytes?): writer.entry("bytes", bytes)
    case .bytes(let from, let received, let sent):
      writer.time("from", from)
      writer.entry("received", received)
      writer.entry("sent", sent)
    case .message(let made, let via, let position):
      writer.time("made", made)
      writer.entry("via", via)
      if let position { writer.entry("position", position) }
    case .sent(let made, let waiting):
      writer.time("made", made)
      writer.entry("waiting", waiting)
    case .outbox(let waiting): writer.entry("waiting", waiting)
    case .fetched(let from, let isDone, let count):
      writer.time("from", from)
      writer.entry("ok", isDone)
      writer.entry("count", count)
    case .post(let from, let isDone), .commit(let from, let isDone):
      writer.time("from", from)
      writer.entry("ok", isDone)
    case .head(let position): writer.entry("position", position)
    case .path(let value), .app(let value): writer.entry("value", value)
    case .trouble(let name), .finding(let name): writer.entry("name", name)
    case .open, .up, .incoming, .outgoing, .pingIn, .pingOut, .pong, .poll, .gap, .gapClosed,
      .notice, .woke, .token, .want, .leave, .wrote, .down, .accepted, .draining, .note:
      return
    }
  }

  private static func write(
    _ opening: ConnectionNote.Opening, from: Duration, to writer: inout JSONWriter
  ) {
    writer.time("from", from)
    for (phase, length) in opening.phases { writer.time(phase.rawValue, length) }
    if let failed = opening.failed { writer.entry("failed", failed.rawValue) }
  }

  private static func write(_ state: TraceEvent.State, to writer: inout JSONWriter) {
    writer.entry("state", state.phase.rawValue)
    if state.attempt > 0 { writer.entry("try", state.attempt) }
    if let most = state.most { writer.entry("of", most) }
    if let retryAt = state.retryAt { writer.time("retryAt", retryAt) }
    if let why = state.why { writer.entry("why", why) }
    if let base = state.base { writer.time("base", base) }
    if let spread = state.spread { writer.time("spread", spread) }
    if let rule = state.rule { writer.entry("rule", rule) }
    if let quality = state.quality { writer.entry("quality", quality.rawValue) }
  }
}

extension JSONWriter {
  /// Writes a time of a trace as a member; null for none.
  package mutating func time(_ name: String, _ time: Duration?) {
    key(name)
    guard let time else { return null() }
    raw(TraceWriter.seconds(time).utf8)
  }
}
