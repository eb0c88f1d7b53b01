/// An error in writing, reading or replaying a journal, with its location and a remedy.
public struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
  /// A problem with a journal. The strings are human-readable details.
  public enum Problem: Sendable, Hashable {
    /// The file cannot be opened, read or written.
    case file(String)
    /// The file at the journal's path is not a journal.
    case taken
    /// The first line is not a header.
    case header(String)
    /// The journal was written in a newer format.
    case version(Int)
    /// The line is longer than the limit.
    case tooLong
    /// The line is not valid JSON for this machine.
    case line(String)
    /// The line is JSON of a journal with this version of the format, but not in the form that this
    /// software reads. Another version of the software usually wrote it.
    case form(String, version: Int)
    /// The line is valid, but out of order.
    case order(String)
    /// The first part of the run is missing, so the machine's initial state is unknown.
    case beginning(part: Int)
    /// The journal belongs to an unknown machine.
    case machine(String, known: [String])
  }

  /// The journal's file.
  public var path: String
  /// The number of the line, counted from 1; `nil` if the error concerns the whole file.
  public var line: Int?
  /// The problem.
  public var problem: Problem

  /// Creates an error. The problem determines the remedy.
  public init(path: String, line: Int? = nil, _ problem: Problem) {
    self.path = path
    self.line = line
    self.problem = problem
  }

  /// A single line with the location, the problem and the remedy.
  public var description: String {
    let location = line.map { "\(path):\($0)" } ?? path
    return "\(location): \(text). \(remedy)"
  }

  private var text: String {
    switch problem {
    case .file(let detail): detail
    case .taken: "the file is not a journal, and was left unchanged"
    case .header(let detail): "the first line is not a journal header: \(detail)"
    case .version(let version): "the format has version \(version)"
    case .tooLong: "the line is too long"
    case .line(let detail): "the line cannot be read: \(detail)"
    case .form(let detail, let version):
      "this version of the software cannot read the line, which is in format \(version): \(detail)"
    case .order(let detail): detail
    case .beginning(let part): "the run begins before this file, which is its part \(part)"
    case .machine(let name, let known):
      "it is a journal of \"\(name)\", not of \(Self.list(known))"
    }
  }

  private static func list(_ names: [String]) -> String {
    names.map { "\"\($0)\"" }.joined(separator: " or ")
  }

  private var remedy: String {
    switch problem {
    case .file: "Check the path and its permissions."
    case .taken: "Give another path, or move the file away."
    case .header: "Give the path of a journal, not of another file."
    case .tooLong, .line, .order:
      "The file was changed or damaged: keep only the lines before this one."
    case .beginning: "Record again with a larger size limit."
    case .form:
      "Replay it with the version of the software that wrote it, unless the file was changed."
    case .version, .machine: "Replay it with the version of the software that wrote it."
    }
  }
}
