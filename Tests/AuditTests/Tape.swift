import HoldfastCore
import HoldfastSessionData

@testable import HoldfastSessionAudit

/// Functions that create hand-written records of connections.
enum Tape {
  /// Returns a complete record of one connection.
  ///
  /// Each line contains the milliseconds since the start, and the event.
  static func record(_ lines: [(Int, AuditRecord.Kind)]) -> AuditRecord {
    var record = AuditRecord()
    record.events = lines.map { time, kind in
      AuditRecord.Event(at: .milliseconds(time), socket: 0, kind: kind)
    }
    record.isComplete = true
    return record
  }

  /// Returns a record of an accepted connection, followed by further events.
  static func session(_ lines: [(Int, AuditRecord.Kind)] = []) -> AuditRecord {
    let start: [(Int, AuditRecord.Kind)] = [
      (0, .opening), (1, .opened(headers: [:])), (1, connected),
    ]
    return record(start + lines)
  }

  static func came(_ text: String) -> AuditRecord.Kind {
    .received(AuditMessage(Array(text.utf8), hide: { $0 }))
  }

  /// Returns an incomplete record of several connections.
  ///
  /// Each line contains the connection, the milliseconds since the start, and the event.
  static func cut(_ lines: [(Int, Int, AuditRecord.Kind)]) -> AuditRecord {
    var record = AuditRecord()
    record.events = lines.map { socket, time, kind in
      AuditRecord.Event(at: .milliseconds(time), socket: socket, kind: kind)
    }
    return record
  }

  /// Returns a history that contains the same prompt `count` times.
  ///
  /// The first `stamped` entries have a time.
  static func history(_ count: Int, stamped: Int = 0) -> AuditRecord.Kind {
    let entries = (0..<count).map { number in
      SessionEntry(
        id: "\(number)", role: .user, text: "audit: one", conversation: "a",
        timestamp: number < stamped ? Timestamp(nanoseconds: 1_000_000_000) : nil)
    }
    return history(entries)
  }

  static func evidence(_ records: [AuditScript.Name: AuditRecord]) -> AuditEvidence {
    var evidence = AuditEvidence(hasKey: true, isEncrypted: false)
    evidence.records = records
    return evidence
  }

  /// Returns a history whose messages have the given positions.
  static func history(positions: [UInt64?]) -> AuditRecord.Kind {
    let entries = positions.enumerated().map { number, position in
      SessionEntry(id: "\(number)", role: .user, text: "a", conversation: "a", position: position)
    }
    return history(entries)
  }

  private static func history(_ entries: [SessionEntry]) -> AuditRecord.Kind {
    let history = SessionHistory(
      conversation: "a", entries: entries,
      extent: .offset(next: UInt64(entries.count), signature: "0:", isReplaced: false),
      isComplete: true)
    return .received(AuditMessage(SessionServerMessage.history(history).bytes, hide: { $0 }))
  }

  /// The description of the events with which `session` begins.
  static let outline =
    "opened a connection; the upgrade succeeded after 1.00 ms; received "
    + #"{"type":"connected","message":"hi","session_id":"a"} after 1.00 ms"#

  static let connected = came(#"{"type":"connected","message":"hi","session_id":"a"}"#)
  static let ping = AuditRecord.Kind.sent(#"{"type":"ping"}"#)
  static let pong = came(#"{"type":"pong"}"#)
}
