import HeldSocket
import LinkCore

// The tape and the stories of a held socket.
extension HeldFeature {
  public static func mix(_ input: Input, into digest: inout Digest) { digest.mix("\(input)") }
  public static func mix(_ effect: Effect, into digest: inout Digest) { digest.mix("\(effect)") }
  public static func mix(_ fact: Fact, into digest: inout Digest) { digest.mix("\(fact)") }

  public static func words(_ input: Input) -> StoryPart {
    switch input {
    case .start: (.user, "wants the socket")
    case .stop: (.user, "wants the socket no longer")
    case .send(let message): (.user, "says \(Words.quoted(message.text ?? ""))")
    case .device(let change): (.phone, "says: \(change)")
    case .credentials(let event): (.app, Words.words(for: event))
    case .socket(let attempt, .message(let message, _)):
      Words.connection(attempt, "brings \(Words.quoted(message.text ?? ""))")
    case .socket(let attempt, .lost(let failure)):
      Words.connection(attempt, "ends with \(Words.failure(failure))")
    case .socket(let attempt, let news): Words.connection(attempt, "says \(news)")
    case .restored, .stored, .storeFailed: (.disk, "answers")
    }
  }

  public static func words(_ effect: Effect, isVerbose: Bool) -> StoryPart? {
    switch effect {
    case .open(let attempt): Words.connection(attempt, "is dialled")
    case .close(let attempt, let code): Words.connection(attempt, "is closed with \(code)")
    case .update(.notice(let notice)): (.screen, "\(notice)")
    case .greet, .resume, .send, .ping, .ask, .refreshCredentials, .store, .remove, .update:
      isVerbose ? (.app, "\(effect)") : nil
    }
  }

  public static func statusWords(_ effect: Effect) -> String? {
    guard case .update(.status(let status)) = effect else { return nil }
    return status.phase.rawValue + (status.reason.map { ": " + Words.reason($0) } ?? "")
  }

  public static func words(_ fact: Fact) -> [StoryPart] {
    switch fact {
    case .heard(_, let packet): [(.server, "hears \(packet)")]
    }
  }
}
