import CommandKit
import LinkJSON

/// The commands about the program itself: `holdfast version`, `completions` and `manual`.
enum ProgramCommands {
  static var all: [Command] { [versionCommand, completionsCommand, manualCommand] }

  private static let shell = Parameter.operand(
    Format<Completion.Shell>(
      placeholder: "SHELL", expectation: "bash, zsh or fish",
      words: Completion.Shell.allCases.map(\.rawValue)
    ) {
      Completion.Shell(rawValue: $0)
    }, "the shell: bash, zsh or fish")
  private static let directory = Parameter.operand(
    .text("DIRECTORY"), "an existing directory, such as /usr/local/share/man/man1")

  private static var versionCommand: Command {
    Command(
      "version", "show the version", details: ["With --json one object: version."],
      examples: [.init("holdfast version", "the same as --version")], takes: Shared.json,
      action: showVersion)
  }

  private static var completionsCommand: Command {
    Command(
      "completions", "print the completion script of a shell",
      details: ["`make install` puts the scripts where bash, zsh and fish look for them."],
      examples: [
        .init("source <(holdfast completions bash)", "for this bash"),
        .init(
          "holdfast completions fish > ~/.config/fish/completions/holdfast.fish",
          "for every fish"),
      ],
      takes: shell, action: showCompletions)
  }

  private static var manualCommand: Command {
    Command(
      "manual", "write the manual pages",
      details: ["Writes holdfast.1 and one page for each command, such as holdfast-stream.1."],
      examples: [.init("holdfast manual /usr/local/share/man/man1", "for man holdfast-stream")],
      takes: directory, action: writeManual)
  }

  private static func showVersion(_ call: Invocation) {
    guard call[Shared.json] else {
      return call.console.line("holdfast \(HoldfastCommand.version)")
    }
    call.console.object { $0.entry("version", HoldfastCommand.version) }
  }

  private static func showCompletions(_ call: Invocation) {
    call.console.line(Completion(HoldfastCommand.root).script(for: call[shell]))
  }

  private static func writeManual(_ call: Invocation) throws(CommandFailure) {
    for page in ManualPage.all(
      HoldfastCommand.root, version: HoldfastCommand.version, date: HoldfastCommand.date)
    {
      try TextFile.write(page.text.utf8, to: "\(call[directory])/\(page.name).1")
    }
  }
}
