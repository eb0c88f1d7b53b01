extension BottleNotice: CustomStringConvertible {
  /// What happened, as the beginning of a sentence.
  public var description: String {
    switch self {
    case .syncFailed(let failure): "the drinks were not received: \(failure.text)"
    case .nothingCame(let said): "the bottle reports \(said) records, but sent none"
    case .reconnectedInBackground: "the system connected the bottle by itself"
    case .malformed(let detail): "a value of the bottle could not be read: \(detail)"
    case .unknownTime(let record):
      "the bottle's clock was not set when it made record \(record)"
    case .notStored(let detail): "a change could not be stored: \(detail)"
    }
  }
}
