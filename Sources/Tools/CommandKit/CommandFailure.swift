/// Why a command ends without having done its work: one line for people, one number for scripts.
public struct CommandFailure: Error, Sendable, Hashable {
  /// The exit status.
  public var code: ExitCode
  /// What is wrong.
  public var cause: String
  /// What to do about it; empty where nobody knows.
  public var remedy: String

  /// A failure with its cause and its remedy, neither ending with a full stop.
  public init(_ code: ExitCode, _ cause: String, remedy: String = "") {
    self.code = code
    self.cause = cause
    self.remedy = remedy
  }

  /// Cause and remedy in one line, whatever line ends they hold.
  public var line: String {
    let whole = remedy.isEmpty ? cause : "\(cause); \(remedy)"
    return whole.split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}
