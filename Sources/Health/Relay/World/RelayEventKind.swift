import HoldfastCore
import HoldfastLinkChecks
public import HoldfastWorldKernel

/// The kinds of planned events, in addition to those of the kernel.
public enum RelayEventKind: String, PlanEventKind {
  // Assistants.
  /// An assistant asks a question. It leaves after a time if there is no answer.
  case asks
  /// An assistant abandons the calls for which it is waiting.
  case leaves
  case logsOut
  /// An assistant asks a question even if it is waiting for other answers.
  case asksMore
  /// An assistant repeats the last question to its phone, regardless of which assistant asked it.
  case repeats
  /// An assistant logs out even if it is waiting for answers.
  case logsOutAtOnce
  /// An assistant logs in with the pair of its last login. That pair is no longer valid.
  case triesOldPair
  /// An assistant discards its token and pairs again, repeating this a given number of times. Then
  /// it asks a question with its first token.
  case pairsAgain

  // Phones.
  /// The user stops the relay and starts it again. This ends its pairings.
  case stop
  /// Reading health data takes up to a minute.
  case slowReading
  /// The socket does not accept the message to be sent.
  case unsent

  // The backend.
  /// The backend sends phones a message that they cannot use.
  case strangeMessage
  /// Strangers try a number of pairs that no phone shows.
  case guesses

  /// The declarations of all event kinds.
  public static let forms: [RelayEventKind: EventForm] = [
    .asks: EventForm(.time, of: .client, isOfPeople: true) {
      "an assistant asks, and waits \(TraceText.length($0.time))"
    },
    .leaves: EventForm(of: .client, isOfPeople: true) { _ in "an assistant leaves" },
    .logsOut: EventForm(of: .client, isOfPeople: true) { _ in "an assistant logs out" },
    .asksMore: EventForm(.time, of: .client, isOfPeople: true) {
      "an assistant asks one question more, and waits \(TraceText.length($0.time))"
    },
    .repeats: EventForm(.time, of: .client, isOfPeople: true) {
      "an assistant asks what its phone was asked last, and waits \(TraceText.length($0.time))"
    },
    .logsOutAtOnce: EventForm(of: .client, isOfPeople: true) { _ in
      "an assistant logs out, whatever it waits for"
    },
    .triesOldPair: EventForm(of: .client, isOfPeople: true) { _ in
      "an assistant logs in with a pair that it has used"
    },
    .pairsAgain: EventForm(.count(1...20), of: .client, isOfPeople: true) {
      "an assistant gives up its token and pairs again, \(TraceText.count($0.number, "time"))"
    },
    .guesses: EventForm(.count(1...2_000), of: .backend, isOfPeople: true) {
      "strangers guess \(TraceText.count($0.number, "pair"))"
    },
    .stop: EventForm(.span, isOfPeople: true) { "stops the relay for \(length($0))" },
    .slowReading: EventForm(.span) { "health data are slow to read for \(length($0))" },
    .unsent: EventForm { _ in "the phone's socket takes no more" },
    .strangeMessage: EventForm(.choice(["oversized", "malformed", "unknown"]), of: .backend) {
      "the backend sends phones something \($0.choice)"
    },
  ]
}
