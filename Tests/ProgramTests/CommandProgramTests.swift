import Foundation
import Glibc
import HoldfastAssistants
import HoldfastCommandKit
import HoldfastLab
import HoldfastTestKit
import Testing

/// Tests of the program's version, manual pages, completions and environment variables.
@Suite(.timeLimit(.minutes(60))) struct CommandProgramTests {
  @Test func `the version is also a command`() async throws {
    let option = try await CommandProcess.run("--version")
    #expect(try await CommandProcess.run("version") == option)
    let version = option.output.first?.split(separator: " ").last.map(String.init)
    let json = try await CommandProcess.run("version", "--json")
    #expect(try [String: Any].reading(json.output.first)["version"] as? String == version)
    // Backends report the same version to assistants.
    #expect(MCPResult.serverVersion == version)
  }

  @Test func `server and shop are read from the environment if they are not given`() async throws {
    try await CommandShop.run { shop in
      let token = try await shop.token()
      let variables = [
        "HOLDFAST_TOKEN": token, "HOLDFAST_SERVER": shop.url, "HOLDFAST_SHOP": CommandShop.name,
      ]
      let sent = try await CommandProcess.run(
        "send", "--data", shop.directory, "hello", environment: variables)
      #expect(sent.status == 0)
      let given = try await CommandProcess.run(
        "send", "--shop", "elsewhere", "--data", shop.directory, "hello", environment: variables)
      #expect(given.status == 4)
    }
    let bad = try await CommandProcess.run(
      "send", "hello", environment: ["HOLDFAST_SERVER": "http://127.0.0.1:1", "HOLDFAST_SHOP": "/"])
    #expect(
      bad
        == .failure(
          2,
          "holdfast send: $HOLDFAST_SHOP cannot be \"/\"; it must be 1 to 128 letters, digits, "
            + "dots, dashes or underscores"))
    let none = try await CommandProcess.run(
      "send", "hello", environment: ["HOLDFAST_SERVER": "", "HOLDFAST_SHOP": "a"])
    #expect(
      none.errors.first?.hasPrefix("holdfast send: --server is missing; add --server") == true)
    #expect(none.errors.first?.hasSuffix("; or set HOLDFAST_SERVER") == true)
  }

  @Test(
    .enabled(
      if: CommandProgramTests.faketime != nil,
      "libfaketime is not installed, or threads are checked"))
  func `a preloaded library that changes the environment does not drop arguments`() async throws {
    let preload = ["LD_PRELOAD": try #require(Self.faketime)]
    let outcome = try await CommandProcess.run(
      ["version", "--json", "extra"], environment: preload)
    #expect(
      outcome.errors == [
        #"holdfast version: unexpected operand "extra"; remove it, or quote words with spaces"#
      ])
  }

  /// 2262-04-12 is just after the last timestamp that 64-bit nanoseconds can contain. The times are
  /// in seconds since 1970.
  @Test(
    .enabled(if: CommandProgramTests.compiler != nil, "no C compiler is installed"),
    arguments: [
      ("2262-04-12", 9_223_372_800), ("2300-01-01", 10_413_792_000), ("1975-01-01", 157_766_400),
    ])
  func `a clock in any year breaks neither imports nor syncs`(
    day: String, seconds: Int
  ) async throws {
    let rig = try SyncRig()
    let clock = try await Self.wallClock(at: seconds, in: rig.scratch)
    try rig.export([(SyncRig.steps, [1, 2, 3])])
    let imported = try await CommandProcess.run(
      ["health", "import", rig.scratch("export.xml"), "--data", rig.data], environment: clock)
    #expect(imported.status == 0, "\(imported.errors)")
    let server = try await rig.serve()
    let synced = try await CommandProcess.run(
      rig.arguments(server.url, ["--once"]), environment: clock)
    // The server may refuse a timestamp that is far ahead of its own clock.
    #expect([0, 1].contains(synced.status), "\(synced.errors)")
    server.process.signal(SIGTERM)
    _ = await server.process.exit()
  }

  /// Returns the environment of a process whose wall clock begins at a time. Its timers are not
  /// changed, unlike those under libfaketime.
  private static func wallClock(
    at seconds: Int, in scratch: Scratch
  ) async throws -> [String: String] {
    let source = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../scripts/wall-clock.c").standardizedFileURL.path
    let (library, shift) = (scratch("wall-clock.so"), scratch("shift"))
    let compiling = try LabProcess([
      try #require(compiler), "-shared", "-fPIC", "-o", library, source,
    ])
    #expect(await compiling.exit() == 0)
    let difference = Int64(seconds) - Int64(Date().timeIntervalSince1970)
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: difference >> (8 * $0)) }
    try Data(bytes).write(to: URL(filePath: shift))
    return ["LD_PRELOAD": library, "WALL_CLOCK": shift]
  }

  /// The path of a C compiler, or `nil` if there is none.
  private static let compiler = ["cc", "clang", "gcc"].lazy
    .flatMap { name in
      ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":").map {
        "\($0)/\(name)"
      }
    }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// The path of libfaketime, or `nil` if it is not installed. The library's constructor sets
  /// environment variables. A program with the thread sanitizer hangs in it before `main`.
  private static let faketime =
    isSanitized
    ? nil
    : ["x86_64", "aarch64"]
      .map { "/usr/lib/\($0)-linux-gnu/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }

  private static var isSanitized: Bool {
    ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
  }

  @Test func `every command has a valid manual page`() async throws {
    try await CommandProcess.scratch { directory in
      #expect(try await CommandProcess.run("manual", directory).status == 0)
      let names = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
      #expect(names.contains("holdfast.1") && names.contains("holdfast-policy-show.1"))
      let page = try String(
        contentsOfFile: directory + "/holdfast-stream.1", encoding: .utf8)
      #expect(page.hasPrefix(".TH HOLDFAST\\-STREAM 1 "))
      #expect(page.contains("\n\\fB\\-\\-consumer NAME\\fR\n"))
      // The page contains the part of the help that follows the options. Quotation marks can be
      // pasted into a shell.
      #expect(page.contains("\n.PP\nSTART is "))
      let socket = try String(
        contentsOfFile: directory + "/holdfast-socket.1", encoding: .utf8)
      #expect(socket.contains("\\(aq") && !socket.contains("'"))
      guard let mandoc = Self.program("mandoc") else { return }
      let pages = names.map { "\(directory)/\($0)" }
      let lint = await CommandProcess.outcome(
        of: try LabProcess([mandoc, "-Tlint", "-Wwarning"] + pages))
      #expect(lint.output == [])
      #expect(lint.status == 0)
    }
    let nowhere = try await CommandProcess.run("manual", "/nowhere")
    #expect(nowhere.status == 1)
  }

  @Test(arguments: [
    (["st"], ["stream"]), (["policy", ""], ["list", "show", "check", "--help"]),
    (["stream", "--conf"], ["--confirm"]), (["stream", "--json", "--cons"], ["--consumer"]),
    (["stream", "--auth", "h"], ["header"]), (["stream", "--server", ""], []),
    (["completions", "fi"], ["fish"]),
  ])
  func `bash completes commands, options and values`(
    arguments: [String], wanted: [String]
  ) async throws {
    #expect(Set(try await completions(Self.bash, arguments)) == Set(wanted))
  }

  @Test(arguments: [
    (["str"], false), (["stream", "--cons"], false), (["stream", "--auth", "h"], false),
    (["stream", "--data", "/us"], true), (["health", "import", ""], true),
  ])
  func `bash treats words as files only where a file is expected`(
    arguments: [String], isFile: Bool
  ) async throws {
    let script = "compopt() { echo \"compopt $*\"; }\n" + Self.bash
    let found = try await completions(script, arguments)
    #expect(found.contains("compopt -o filenames") == isFile)
  }

  private static let bash = """
    source <("$0" completions bash)
    COMP_WORDS=(holdfast "$@"); COMP_CWORD=$#
    _holdfast
    printf '%s\\n' "${COMPREPLY[@]}"
    """

  @Test func `bash completes file names where a file is expected`() async throws {
    let found = try await completions(Self.bash, ["stream", "--data", "/us"])
    #expect(found == ["/usr"])
  }

  @Test(
    .enabled(if: CommandProgramTests.program("fish") != nil, "fish is not installed"),
    arguments: [
      (["st"], ["stream"]), (["policy", ""], ["list", "show", "check"]),
      (["stream", "--conf"], ["--confirm"]), (["stream", "--json", "--cons"], ["--consumer"]),
      (["stream", "--auth", "h"], ["header"]), (["stream", "--server", ""], []),
      (["completions", "fi"], ["fish"]),
    ])
  func `fish completes commands, options and values`(
    arguments: [String], wanted: [String]
  ) async throws {
    let script = """
      "$0" completions fish > "$HOME/c.fish"
      exec fish --no-config -c 'source $argv[1]; complete -C$argv[2]' "$HOME/c.fish" "holdfast $*"
      """
    let found = try await completions(script, arguments)
    #expect(Set(found.map { $0.split(separator: "\t")[0] }) == Set(wanted.map { $0[...] }))
  }

  @Test(
    .enabled(if: CommandProgramTests.program("zsh") != nil, "zsh is not installed"),
    arguments: [
      (["st"], ["stream"]), (["policy", ""], ["list", "show", "check", "--help"]),
      (["stream", "--auth", ""], ["header", "query"]), (["stream", "--server", ""], []),
      (["stream", "--data", ""], ["FILES"]),
      (["completions", ""], ["bash", "zsh", "fish", "--help"]),
    ])
  func `zsh completes commands, options and values`(
    arguments: [String], wanted: [String]
  ) async throws {
    // Completion needs a terminal. The script replaces its builtins so that it works without one.
    let script = """
      "$0" completions zsh > "$HOME/_holdfast"
      exec zsh -f -c '
        compadd() { shift; print -l -- "$@" }
        _files() { print FILES }
        _describe() { print -l -- "${(@)items%%:*}" }
        complete() { source $file }
        file=$1; shift
        words=(holdfast "$@"); CURRENT=${#words}
        complete
      ' zsh "$HOME/_holdfast" "$@"
      """
    let prefix = arguments.last ?? ""
    let found = try await completions(script, arguments).filter {
      prefix.isEmpty || $0.hasPrefix(prefix)
    }
    #expect(Set(found) == Set(wanted))
  }

  /// Runs a bash script with the program's path as `$0` and an empty home directory.
  ///
  /// - Returns: The nonempty lines of the output.
  private func completions(_ script: String, _ arguments: [String]) async throws -> [String] {
    try await CommandProcess.scratch { directory in
      let outcome = await CommandProcess.outcome(
        of: try LabProcess(
          ["bash", "-c", script, CommandProcess.path] + arguments, environment: ["HOME": directory])
      )
      #expect(outcome.errors == [])
      return outcome.output.filter { !$0.isEmpty }
    }
  }

  /// Returns the path of a program on this machine, or `nil` if it is not installed.
  private static func program(_ name: String) -> String? {
    ["/usr/bin/", "/bin/", "/usr/local/bin/"].map { $0 + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
