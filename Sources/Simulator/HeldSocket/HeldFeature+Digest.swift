import HeldSocket
import LinkCore

// What of a held socket's steps is part of a run's digest, beside their roles.
extension HeldFeature {
  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .send(let message), .socket(_, .message(let message, _)): digest.mix(number(message))
    case .socket(_, .reading(let isPaused)): digest.mix(isPaused)
    case .restored(let entries): digest.mix(UInt64(entries.count))
    case .stored(let id), .storeFailed(let id, _): digest.mix(id)
    case .start, .stop, .link, .credentials, .socket(_, .opened), .socket(_, .unsent): return
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .send(_, let message), .update(.message(let message)): digest.mix(1, number(message))
    case .resume(_, let position): digest.mix(position.text)
    case .store(let entry): digest.mix(2, entry.id)
    case .remove(let ids): digest.mix(3, UInt64(ids.count), ids.last ?? 0)
    case .close(_, let code): digest.mix(4, UInt64(code))
    case .update(.sent(let count)): digest.mix(5, count)
    case .update(.status(let status)): digest.mix(status.phase.rawValue)
    case .update(.notice(.unproven(let count, _))): digest.mix(6, UInt64(count))
    case .greet: digest.mix(7)
    case .open, .ping, .ask, .refreshCredentials, .update(.quality), .update(.notice): return
    }
  }

  private static func number(_ message: SocketMessage) -> UInt64 { UInt64(message.number ?? 0) }
}
