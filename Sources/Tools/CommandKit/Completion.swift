/// The completion script of a shell, generated from the same declarations that parsing uses.
///
/// Like the parser, each script determines the command from the words before the cursor.
public struct Completion: Sendable {
  /// The shells that have a completion script.
  public enum Shell: String, Sendable, CaseIterable {
    case bash, zsh, fish
  }

  private let paths: [CommandPath]
  private let program: String

  /// Creates the completion of the program that `root` declares.
  public init(_ root: Command) {
    paths = CommandPath(root).tree
    program = root.name
  }

  /// Returns the script for a shell, without a final line break.
  public func script(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  /// An argument that can follow a command, with its meaning.
  private struct Candidate {
    var text: String
    var meaning: String
    /// The kind of the option's value; `nil` if the candidate takes no value.
    var value: Value?
  }

  private enum Value {
    case file
    case choices([String])
    case other
  }

  private static func candidates(of path: CommandPath) -> [Candidate] {
    let command = path.command
    var candidates = command.commands.map { Candidate(text: $0.name, meaning: $0.summary) }
    for parameter in command.parameters where parameter.kind != .operand {
      candidates.append(
        Candidate(
          text: parameter.label, meaning: parameter.meaning,
          value: parameter.kind == .flag ? nil : value(of: parameter)))
    }
    candidates.append(Candidate(text: "--help", meaning: "show the help text"))
    for operand in command.parameters where operand.kind == .operand {
      candidates += operand.choices.map { Candidate(text: $0, meaning: operand.meaning) }
    }
    return candidates
  }

  private static func value(of parameter: Declaration) -> Value {
    if !parameter.choices.isEmpty { return .choices(parameter.choices) }
    return isFile(parameter) ? .file : .other
  }

  private static func isFile(_ parameter: Declaration) -> Bool {
    ["FILE", "DIR", "PATH"].contains { parameter.placeholder.contains($0) }
  }

  private static func takesFiles(_ path: CommandPath) -> Bool {
    path.command.parameters.contains { $0.kind == .operand && isFile($0) }
  }

  /// The paths of all commands except the root, as a `case` pattern.
  private var commands: String {
    paths.dropFirst().map { Self.quoted($0.text) }.joined(separator: "|")
  }

  /// Returns the branches that complete the values of options, for bash and zsh.
  private func values(files: String, choices: (String) -> String) -> [String] {
    paths.flatMap { path in
      Self.candidates(of: path).compactMap { candidate in
        guard let value = candidate.value else { return nil }
        let action =
          switch value {
          case .file: files
          case .choices(let list): choices(list.joined(separator: " "))
          case .other: ":"
          }
        return "    \(Self.quoted("\(path.text) \(candidate.text)"))) \(action); return ;;"
      }
    }
  }

  /// The command that makes bash treat the words as file names.
  ///
  /// It is used only where files are expected. Elsewhere, bash would complete a command as a folder
  /// if a folder has the same name.
  private static let bashFiles = "compopt -o filenames 2>/dev/null"

  /// The name of the bash function. In POSIX mode, a function name may not contain a hyphen.
  private var function: String { program.replacing("-", with: "_") }

  private var bash: String {
    let branches = paths.map { path in
      let candidates = Self.candidates(of: path).map(\.text).joined(separator: " ")
      let isFile = Self.takesFiles(path)
      return "    \(Self.quoted(path.text))) "
        + (isFile ? "\(Self.bashFiles); " : "")
        + "COMPREPLY=($(compgen\(isFile ? " -f" : "") -W \(Self.quoted(candidates)) -- \"$cur\")) ;;"
    }
    let values = values(files: "\(Self.bashFiles); COMPREPLY=($(compgen -f -- \"$cur\"))") {
      "COMPREPLY=($(compgen -W \(Self.quoted($0)) -- \"$cur\"))"
    }
    return """
      # bash completion for \(program)
      _\(function)() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at=\(program) word
        COMPREPLY=()
        for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
          case "$at $word" in
            \(commands)) at="$at $word" ;;
          esac
        done
        case "$at $prev" in
      \(values.joined(separator: "\n"))
        esac
        case "$at" in
      \(branches.joined(separator: "\n"))
        esac
      }
      complete -F _\(function) \(program)
      """
  }

  private var zsh: String {
    let branches = paths.map { path in
      let candidates = Self.candidates(of: path).map {
        Self.quoted("\($0.text):\($0.meaning.replacing(":", with: "\\:"))")
      }
      let files = Self.takesFiles(path) ? "; _files" : ""
      return
        "    \(Self.quoted(path.text))) items=(\(candidates.joined(separator: " ")))\(files) ;;"
    }
    return """
      #compdef \(program)
      local at=\(program) word
      local -a items
      for word in ${words[2,CURRENT-1]}; do
        case "$at $word" in
          \(commands)) at="$at $word" ;;
        esac
      done
      case "$at ${words[CURRENT-1]}" in
      \(values(files: "_files") { "compadd -- \($0)" }.joined(separator: "\n"))
      esac
      case "$at" in
      \(branches.joined(separator: "\n"))
      esac
      _describe -t commands \(program) items
      """
  }

  private var fish: String {
    let at = "__\(program)_at"
    let lines = paths.flatMap { path in
      let condition = "-n \(Self.quotedForFish("\(at) \(Self.quoted(path.text))"))"
      var lines = Self.candidates(of: path).map { candidate in
        let start =
          candidate.text.hasPrefix("--")
          ? "complete -c \(program) \(condition) -l \(candidate.text.dropFirst(2))"
          : "complete -c \(program) \(condition) -a \(candidate.text)"
        let value =
          switch candidate.value {
          case nil: ""
          case .file: " -r -F"
          case .choices(let list): " -x -a \(Self.quotedForFish(list.joined(separator: " ")))"
          case .other: " -x"
          }
        return "\(start)\(value) -d \(Self.quotedForFish(candidate.meaning))"
      }
      if Self.takesFiles(path) { lines.append("complete -c \(program) \(condition) -F") }
      return lines
    }
    let known = paths.dropFirst().map { Self.quotedForFish($0.text) }.joined(separator: " ")
    return """
      # fish completion for \(program)
      function \(at)
        set -l at \(program)
        for word in (commandline -opc)[2..-1]
          if contains -- "$at $word" \(known)
            set at "$at $word"
          end
        end
        test "$at" = "$argv[1]"
      end
      complete -c \(program) -f
      \(lines.joined(separator: "\n"))
      """
  }

  /// Returns a word in single quotes, for bash and zsh.
  private static func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }

  /// Returns a word in single quotes, for fish.
  private static func quotedForFish(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
