import HoldfastJSON

/// The commands that concern the program itself: `version`, `completions` and `manual`.
package struct ProgramCommands: Sendable {
  private let program: String
  private let root: @Sendable () -> Command

  /// Creates the commands of a program.
  ///
  /// - Parameters:
  ///   - program: The program's name.
  ///   - root: A function that returns the program's root command.
  package init(of program: String, root: @escaping @Sendable () -> Command) {
    self.program = program
    self.root = root
  }

  package var all: [Command] { [versionCommand, completionsCommand, manualCommand] }

  private static let shell = Parameter.operand(
    Format<Completion.Shell>("SHELL", expectation: "bash, zsh or fish"),
    "the shell: bash, zsh or fish")
  private static let directory = Parameter.operand(
    .text("DIRECTORY"), "an existing directory, such as /usr/local/share/man/man1")

  private var versionCommand: Command {
    Command(
      "version", "show the version", details: ["With --json one object: version."],
      examples: [.init("\(program) version", "the same as --version")], takes: Shared.json,
      action: showVersion)
  }

  private var completionsCommand: Command {
    Command(
      "completions", "print the completion script of a shell",
      details: ["`make install` puts the scripts where bash, zsh and fish look for them."],
      examples: [
        .init("source <(\(program) completions bash)", "for this bash"),
        .init(
          "\(program) completions fish > ~/.config/fish/completions/\(program).fish",
          "for every fish"),
      ],
      takes: Self.shell, action: showCompletions)
  }

  private var manualCommand: Command {
    Command(
      "manual", "write the manual pages",
      details: [
        """
        Writes \(program).1 and one page for each command, such as \(program)-version.1.
        """
      ],
      examples: [.init("\(program) manual /usr/local/share/man/man1", "for man \(program)")],
      takes: Self.directory, action: writeManual)
  }

  private func showVersion(_ call: Invocation) {
    call.put("\(program) \(Release.version)") { $0.entry("version", Release.version) }
  }

  private func showCompletions(_ call: Invocation) {
    call.console.line(Completion(root()).script(for: call[Self.shell]))
  }

  private func writeManual(_ call: Invocation) throws(CommandFailure) {
    for page in ManualPage.all(root()) {
      try TextFile.write(page.text.utf8, to: "\(call[Self.directory])/\(page.name).1")
    }
  }
}

/// Suggestions for misspelled words.
public enum Spelling {
  /// Returns the name nearest to `wrong`; `nil` if no name is near.
  ///
  /// A name is near if it begins with `wrong` and `wrong` has at least three letters, or if at most
  /// a third of the letters differ. If several names are equally near, the first one is returned.
  public static func nearest(to wrong: String, among names: [String]) -> String? {
    if wrong.count >= 3, let whole = names.first(where: { $0.hasPrefix(wrong) }) { return whole }
    let (length, most) = (wrong.count, max(1, wrong.count / 3))
    // A difference in length is a part of the distance, which takes long to count in long words.
    let near = names.filter { abs($0.count - length) <= most }
      .map { (name: $0, distance: distance(from: wrong, to: $0)) }.filter { $0.distance <= most }
    return near.min { $0.distance < $1.distance }?.name
  }

  /// Returns the number of letters to insert, remove, replace or swap with a neighboring letter.
  public static func distance(from left: String, to right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        let isSame = left[row] == right[column]
        var best = min(
          last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      (beforeLast, last) = (last, current)
    }
    return last[right.count]
  }
}
