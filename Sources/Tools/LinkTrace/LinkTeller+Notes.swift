public import HoldfastCore

extension LinkTeller {
  /// Adds the facts of a note about the connection of an attempt.
  ///
  /// - Parameters:
  ///   - now: The time of the note.
  ///   - line: The line of the journal.
  public mutating func see(
    _ note: ConnectionNote, of attempt: AttemptID, at now: Instant, line: Int? = nil
  ) {
    guard begin(noteAt: now, line: line) else { return }
    switch note {
    case .opening(let opening): tell(opening, attempt)
    case .traffic(let received, let sent): tell(received: received, sent: sent, attempt)
    }
  }

  private mutating func tell(_ opening: ConnectionNote.Opening, _ attempt: AttemptID) {
    let begun = link.openFact[attempt].map { facts[$0].at } ?? .zero
    let from = min(max(at - opening.total, begun), at)
    add(
      .phases(from: from, opening), Sentence.of(opening, attempt), attempt: attempt,
      cause: link.openFact[attempt])
  }

  private mutating func tell(received: UInt64, sent: UInt64, _ attempt: AttemptID) {
    let since = link.count(attempt, received: received, sent: sent, at: at)
    guard since.received + since.sent > 0 else { return }
    let begun = since.from ?? link.openFact[attempt].map { facts[$0].at } ?? at
    let bytes = "received \(Sentence.bytes(since.received)) and sent \(Sentence.bytes(since.sent))"
    add(
      .bytes(from: begun, received: since.received, sent: since.sent),
      "Connection \(attempt.number) \(bytes) in \(Sentence.length(at - begun)).", attempt: attempt)
  }
}

extension Sentence {
  /// Returns the sentence of the phases of an attempt.
  static func of(_ opening: ConnectionNote.Opening, _ attempt: AttemptID) -> String {
    let phases = opening.phases.map { "\(name(of: $0.phase)) \(length($0.length))" }
    let list = phases.isEmpty ? "" : ": " + phases.joined(separator: ", ")
    let total = length(opening.total)
    guard let failed = opening.failed else {
      return "Connection \(attempt.number) opened in \(total)\(list)."
    }
    return
      "Attempt \(attempt.number) ended after \(total) in the phase “\(name(of: failed))”\(list)."
  }

  /// Returns the name of a phase of an attempt.
  static func name(of phase: LinkFailure.Phase) -> String {
    switch phase {
    case .resolve: "name"
    case .connect: "connection"
    case .tls: "TLS"
    case .upgrade, .establish, .response, .silence, .pong, .write: phase.rawValue
    }
  }

  /// Returns a number of bytes such as `312 bytes`, `12.3 kB` or `4.1 MB`.
  static func bytes(_ number: UInt64) -> String {
    switch number {
    case 1: "1 byte"
    case ..<1_000: "\(number) bytes"
    case ..<1_000_000: "\(tenths(number, of: 1_000)) kB"
    case _: "\(tenths(number, of: 1_000_000)) MB"
    }
  }

  private static func tenths(_ number: UInt64, of unit: UInt64) -> String {
    let tenth = number % unit / (unit / 10)
    return "\(number / unit)" + (tenth == 0 ? "" : ".\(tenth)")
  }
}
