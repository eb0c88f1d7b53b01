import LinkCore
import MessageStream

/// A judge that is told one thing at a time: what came in, each effect, and then how things stand.
///
/// The bench takes a happening apart once and calls those whom it concerns.
protocol Watch: Judge {
  var found: Findings { get }
  /// The client was given an input; its effects follow.
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts)
  /// The client's deadline came; its effects follow.
  mutating func ticked(_ facts: Facts)
  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts)
  /// Whatever else happens.
  mutating func met(_ happening: Happening, _ facts: Facts)
  /// How things stand after all of it.
  mutating func settled(_ facts: Facts)
}

extension Watch {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {}
  mutating func ticked(_ facts: Facts) {}
  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {}
  mutating func met(_ happening: Happening, _ facts: Facts) {}
  mutating func settled(_ facts: Facts) {}

  /// What was broken so far.
  var findings: [Finding] { found.all }

  /// Sees one thing that happened and how things stand right after it.
  mutating func see(_ happening: Happening, _ facts: Facts) {
    switch happening {
    case .told(let input, let isLate, let effects):
      told(input, isLate: isLate, facts)
      for effect in effects { asked(effect, facts) }
    case .ticked(let effects):
      ticked(facts)
      for effect in effects { asked(effect, facts) }
    case .launched, .killed, .suspended, .resumed, .stored, .accepted, .beganAnew, .upgraded,
      .serverLost, .wentDead, .began, .ended, .calm:
      met(happening, facts)
    }
    settled(facts)
  }

  /// The run is over.
  mutating func conclude(_ facts: Facts) {}
}

extension StreamModel.Input {
  /// Whether it is a reason to act that the client did not make itself: a person, the device, new
  /// credentials, or something that the server says unasked.
  var isCause: Bool {
    switch self {
    case .open, .close, .realtime, .refresh, .loadOlder, .send, .retry, .discard, .reachability,
      .lifecycle, .woke, .credentials, .reader, .opened, .frame, .oversized, .lost:
      true
    case .user, .ping, .pong, .fetched, .fetchFailed, .posted, .postFailed, .loaded, .loadFailed,
      .committed, .commitFailed, .older, .olderFailed:
      false
    }
  }

  /// Whether it opens a new chapter for the link: what was tried before does not count any more.
  var isNewStart: Bool {
    switch self {
    case .open, .close, .realtime, .refresh, .reachability, .lifecycle, .woke, .posted: true
    case .credentials(let event): event.isNews
    case .reader, .user, .loadOlder, .send, .retry, .discard, .opened, .frame, .ping, .pong,
      .oversized, .lost,
      .fetched, .fetchFailed, .postFailed, .loaded, .loadFailed, .committed, .commitFailed,
      .older, .olderFailed:
      false
    }
  }
}

extension Link.CredentialsEvent {
  /// Whether there are others now than before.
  var isNews: Bool {
    switch self {
    case .available, .cleared: true
    case .refreshFailed, .rejected: false
    }
  }
}
