package import HoldfastCore

/// A line of a journal that explains its run: a note about a connection. A replay ignores it.
package struct JournalNote: Sendable, Hashable {
  /// The time at which the note was made.
  package var at: Instant
  /// The attempt of the connection.
  package var attempt: AttemptID
  /// The content of the note.
  package var note: ConnectionNote

  /// Creates a note about the connection of an attempt.
  package init(at: Instant, attempt: AttemptID, _ note: ConnectionNote) {
    (self.at, self.attempt, self.note) = (at, attempt, note)
  }
}

/// The line of a note, without its time. A note of a kind that is not known has no content.
struct NoteFields: Codable {
  var content: (attempt: AttemptID, note: ConnectionNote)?

  init(_ attempt: AttemptID, _ note: ConnectionNote) { content = (attempt, note) }

  private enum CodingKeys: CodingKey { case attempt, opening, traffic }

  /// Durations are in nanoseconds.
  private struct Opening: Codable {
    var resolve: Int64?
    var connect: Int64?
    var tls: Int64?
    var upgrade: Int64?
    var failed: LinkFailure.Phase?

    /// Whether the phase of a failure is one of an opening.
    var isKnown: Bool { failed.map { [.resolve, .connect, .tls, .upgrade].contains($0) } ?? true }
  }

  private struct Traffic: Codable {
    var received: UInt64
    var sent: UInt64
  }

  /// Reads a note. A note cannot damage a journal, so any other content is the same as none.
  init(from decoder: any Decoder) {
    guard let fields = try? decoder.container(keyedBy: CodingKeys.self),
      let attempt = try? fields.decode(AttemptID.self, forKey: .attempt)
    else { return }
    if let opening = try? fields.decode(Opening.self, forKey: .opening), opening.isKnown {
      let note = ConnectionNote.Opening(
        resolve: Self.duration(opening.resolve), connect: Self.duration(opening.connect),
        tls: Self.duration(opening.tls), upgrade: Self.duration(opening.upgrade),
        failed: opening.failed)
      content = (attempt, .opening(note))
    } else if let traffic = try? fields.decode(Traffic.self, forKey: .traffic) {
      content = (attempt, .traffic(received: traffic.received, sent: traffic.sent))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var fields = encoder.container(keyedBy: CodingKeys.self)
    guard let content else { return }
    try fields.encode(content.attempt, forKey: .attempt)
    switch content.note {
    case .opening(let note):
      let opening = Opening(
        resolve: note.resolve?.nanoseconds, connect: note.connect?.nanoseconds,
        tls: note.tls?.nanoseconds, upgrade: note.upgrade?.nanoseconds, failed: note.failed)
      try fields.encode(opening, forKey: .opening)
    case .traffic(let received, let sent):
      try fields.encode(Traffic(received: received, sent: sent), forKey: .traffic)
    }
  }

  /// Returns a duration; `nil` for a negative number, or one of more than a year.
  private static func duration(_ nanoseconds: Int64?) -> Duration? {
    guard let nanoseconds, (0...31_536_000_000_000_000).contains(nanoseconds) else { return nil }
    return .nanoseconds(nanoseconds)
  }
}

/// An entry of a journal.
enum JournalEntry<M: Machine>: Sendable {
  case step(JournalStep<M>)
  case note(JournalNote)

  var lines: [JournalLine<M>] {
    switch self {
    case .step(let step): step.lines
    case .note(let note): [JournalLine(at: note.at, note: NoteFields(note.attempt, note.note))]
    }
  }
}
