import HoldfastCore
public import HoldfastHeldChecks
import HoldfastHeldSocket
public import HoldfastLinkChecks

extension HeldFeature {
  public static func sentence(of input: Input) -> String? {
    switch input {
    case .makeStanding(let key):
      "The user sets standing message \(key), which is made for each connection."
    case .socket(let attempt, .reading(let isPaused)):
      isPaused
        ? "The app left too many messages unread: connection \(attempt.number) is not read."
        : "Connection \(attempt.number) is read again."
    case .socket(let attempt, .message(let message, _)):
      "Connection \(attempt.number) brings \(Sentence.content(message))."
    case .socket(let attempt, .unsent): "Connection \(attempt.number) takes no more messages."
    case .restored(let messages):
      "The disk gives back \(Sentence.count(messages.count, "message")) to be sent."
    case .stored(let id): "The disk has stored message \(id)."
    case .storeFailed(let id, let detail): "The disk has not stored message \(id): \(detail)."
    case .start, .stop, .send, .standing, .link, .credentials, .socket: nil
    }
  }

  public static func sentence(of effect: Effect) -> String? {
    switch effect {
    case .greet(let attempt, _, _): "The app greets the server on connection \(attempt.number)."
    case .resume(let attempt, _):
      "The app asks on connection \(attempt.number) for what follows."
    case .standing(let attempt, _):
      "The app sends a standing message on connection \(attempt.number)."
    case .makeStanding(let attempt, let key, _):
      "The app makes and sends standing message \(key) on connection \(attempt.number)."
    case .send(let attempt, let entry):
      "The app sends message \(entry.id) on connection \(attempt.number)."
    case .ask(let attempt):
      "The app sends its own ping message on connection \(attempt.number)."
    case .store(let entry): "The app stores message \(entry.id), which is to be sent."
    case .remove(let ids):
      "The app removes \(Sentence.count(ids.count, "message")) from the disk."
    case .update(let update): sentence(of: update)
    case .open, .close, .ping, .refreshCredentials: nil
    }
  }

  private static func sentence(of update: Model.Update) -> String? {
    switch update {
    case .status: nil
    case .quality(let quality): "The quality of the connection is \(quality.rawValue)."
    case .message(let message):
      "The app shows \(Sentence.content(message))."
    case .sent(let count): "\(Sentence.count(Int(clamping: count), "message")) sent so far."
    case .stored(let id): "The outbox has stored message \(id)."
    case .proven(let id): "All messages up to number \(id) have arrived."
    case .notice(let notice): "The app reports: \(notice)."
    }
  }
}

extension Sentence {
  /// Returns the content of a message in a few words.
  fileprivate static func content(_ message: SocketMessage) -> String {
    if message.count == 0 { return "an empty message" }
    return message.text.map(quoted) ?? count(message.count, "byte")
  }
}
