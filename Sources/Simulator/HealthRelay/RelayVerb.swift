import LinkCore

/// What can happen in plans of relays beside the kernel's troubles.
public enum RelayVerb: String, PlanVerb {
  // Assistants.
  /// Asks a question, and leaves without an answer after a time.
  case asks
  /// Leaves whatever it waits for.
  case leaves
  case logsOut

  // Phones.
  /// The user stops the relay and starts it again, which ends its pairings.
  case stop
  /// Health data take up to a minute to read.
  case slowReading
  /// The socket does not take what is to be sent.
  case unsent

  // The backend.
  /// It sends phones something that they cannot use.
  case strangeMessage

  /// The declarations of all verbs.
  public static let forms: [RelayVerb: VerbForm] = [
    .asks: VerbForm(.time, of: .client, isOfPeople: true) {
      "an assistant asks, and waits \(Words.length($0.time))"
    },
    .leaves: VerbForm(of: .client, isOfPeople: true) { _ in "an assistant leaves" },
    .logsOut: VerbForm(of: .client, isOfPeople: true) { _ in "an assistant logs out" },
    .stop: VerbForm(.span, isOfPeople: true) { "stops the relay for \(length($0))" },
    .slowReading: VerbForm(.span) { "health data are slow to read for \(length($0))" },
    .unsent: VerbForm { _ in "the phone's socket takes no more" },
    .strangeMessage: VerbForm(.word(["oversized", "malformed", "unknown"]), of: .backend) {
      "the backend sends phones something \($0.word)"
    },
  ]
}
