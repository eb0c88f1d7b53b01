/// The reason for which a command fails: one line for people and an exit status for scripts.
public struct CommandFailure: Error, Sendable, Hashable {
  /// The exit status.
  public var code: ExitCode
  /// What is wrong.
  public var cause: String
  /// What to do about it; empty if nothing is known to help.
  public var remedy: String

  /// A failure with its cause and its remedy, both without a full stop.
  public init(_ code: ExitCode, _ cause: String, remedy: String = "") {
    self.code = code
    self.cause = cause
    self.remedy = remedy
  }

  /// The cause and the remedy in one line; line breaks in them become spaces, and what could
  /// control a terminal is escaped.
  public var line: String {
    let whole = remedy.isEmpty ? cause : "\(cause); \(remedy)"
    return whole.split(whereSeparator: \.isNewline).joined(separator: " ").printable
  }
}
