import HoldfastCommandKit
import HoldfastCore
import Testing

/// A command tree with every kind of parameter.
private enum Toy {
  static let size = Parameter.option("size", .integer("N", 1...9), default: 3, "how large")
  static let color = Parameter.required("color", .color, "its colour")
  static let wait = Parameter.optional(
    "wait", .duration(.zero ... .seconds(60)), usual: "no wait", "a wait")
  static let set = Parameter.repeated("set", .setting, "a setting")
  static let quiet = Parameter.flag("quiet", "say less")
  static let name = Parameter.operand(.text("NAME"), "who plays")
  static let words = Parameter.operands(atLeast: 1, .text("WORD"), "what is said")

  static var root: Command {
    Command(
      "toy", "a box of toys",
      commands: [
        Command(
          "play", "play with a toy", details: ["It is fun."],
          examples: [.init("toy play --color red ann hello", "plays")],
          takes: size, color, wait, set, quiet, name, words
        ) { _ in },
        Command(
          "rest", "rest", examples: [],
          commands: [Command("more", "rest longer", examples: [], takes: size) { _ in }],
          takes: quiet
        ) { _ in },
      ])
  }

  static func parse(_ line: String) throws -> Arguments {
    let arguments = line.split(separator: " ").map(String.init)
    let request = try Parser(root).parse(arguments)
    guard case .run(_, let arguments) = request else { throw NothingToRun() }
    return arguments
  }

  struct NothingToRun: Error {}

  /// Returns the error message for an invalid command line, or `nil` if the line is valid.
  static func complaint(_ line: String) -> String? {
    do {
      _ = try parse(line)
      return nil
    } catch let error as ParseFailure {
      #expect(error.failure.code == .usage)
      return "\(error.path.text): \(error.failure.line)"
    } catch {
      return nil
    }
  }
}

extension Format<String> {
  fileprivate static let color = Format(
    placeholder: "COLOR", expectation: "red or green", choices: ["red", "green"]
  ) {
    ["red", "green"].contains($0) ? $0 : nil
  } write: {
    $0
  }
}

@Suite struct CommandParserTests {
  @Test func `parses given values and fills in defaults`() throws {
    let plain = try Toy.parse("play --color red ann hello")
    #expect(plain[Toy.size] == 3)
    #expect(plain[Toy.color] == "red")
    #expect(plain[Toy.wait] == nil)
    #expect(plain[Toy.set] == [])
    #expect(plain[Toy.quiet] == false)
    #expect(plain[Toy.name] == "ann")
    #expect(plain[Toy.words] == ["hello"])
    let full = try Toy.parse(
      "play ann --size=9 --set a=b=c --color green --set d= --wait 1.5s --quiet hello -- --you -")
    #expect(full[Toy.size] == 9)
    #expect(full[Toy.color] == "green")
    #expect(full[Toy.wait] == .milliseconds(1500))
    #expect(full[Toy.set] == [Setting(key: "a", value: "b=c"), Setting(key: "d", value: "")])
    #expect(full[Toy.quiet] == true)
    #expect(full[Toy.words] == ["hello", "--you", "-"])
  }

  @Test(arguments: [
    ("", "toy: a command is missing; one of play, rest"),
    ("paly", "toy: unknown command paly; did you mean play?"),
    ("sing", "toy: unknown command sing; one of play, rest"),
    ("--quiet rest", "toy: --quiet must come after a command; put the command first"),
    ("rest --quite", "toy rest: unknown option --quite; did you mean --quiet?"),
    ("rest --xyz", "toy rest: unknown option --xyz; toy rest --help lists the options"),
    ("rest -q", "toy rest: unknown option -q; toy rest --help lists the options"),
    ("rest --quiet=yes", "toy rest: --quiet takes no value; write --quiet alone"),
    ("rest --quiet --quiet", "toy rest: --quiet was given twice; remove one"),
    ("rest now", #"toy rest: unexpected operand "now"; remove it, or quote words with spaces"#),
    ("play ann hello", "toy play: --color is missing; add --color COLOR, its colour"),
    ("play --color red", "toy play: NAME is missing; add NAME, who plays"),
    ("play --color red ann", "toy play: WORD is missing; add WORD, what is said"),
    ("play --color", "toy play: --color needs a value; write --color COLOR"),
    ("play --color --quiet", "toy play: --color needs a value; write --color COLOR"),
    ("play --color blue", #"toy play: --color cannot be "blue"; it must be red or green"#),
    ("play --size 0", #"toy play: --size cannot be "0"; it must be a whole number from 1 to 9"#),
    ("play --size=", #"toy play: --size cannot be ""; it must be a whole number from 1 to 9"#),
    ("play --set a", #"toy play: --set cannot be "a"; it must be a key, = and a value"#),
  ])
  func `reports the error and the remedy`(line: String, complaint: String) {
    #expect(Toy.complaint(line) == complaint)
  }

  @Test(arguments: [
    ("--help", "toy"), ("-h", "toy"), ("help", "toy"), ("help play", "toy play"),
    ("play --help", "toy play"), ("play --nonsense -h", "toy play"), ("help rest x", "toy rest"),
    ("rest more -h", "toy rest more"), ("help rest more", "toy rest more"),
  ])
  func `prints help wherever it is requested`(line: String, path: String) throws {
    let arguments = line.split(separator: " ").map(String.init)
    guard case .help(let found) = try Parser(Toy.root).parse(arguments)
    else {
      Issue.record("no help")
      return
    }
    #expect(found.text == path)
  }

  @Test func `after two dashes --help is an ordinary word`() throws {
    #expect(try Toy.parse("play --color red ann -- --help")[Toy.words] == ["--help"])
  }

  @Test(arguments: [
    ([], "toy"), (["play"], "toy play"), (["play", "rest"], "toy play"),
    (["--quiet", "rest"], "toy"),
  ])
  func `finds the command at the start of the words`(arguments: [String], path: String) {
    #expect(CommandPath(Toy.root).resolve(arguments).text == path)
  }

  @Test func `a command declares the signals that it handles, and which values are secret`() {
    let key = Parameter.optional("key", .text("KEY"), isSecret: true, "a key")
    let keys = Parameter.repeated("keys", .text("KEY"), isSecret: true, "keys")
    let open = Parameter.optional("open", .text("TEXT"), "a text")
    let command = Command(
      "watch", "watch a toy", examples: [], signals: [1, 10], takes: key, keys, open
    ) { _ in }
    #expect(command.signals == [1, 10])
    #expect(command.parameters.filter(\.isSecret).map(\.label) == ["--key", "--keys"])
    #expect(CommandPath(Toy.root).tree.allSatisfy { $0.command.signals.isEmpty })
  }

  @Test func `an invalid secret is not repeated`() {
    let key = Parameter.optional("key", .integer("KEY", 0...9), isSecret: true, "a key")
    let command = Command("open", "open a toy", examples: [], takes: key) { _ in }
    do {
      _ = try Parser(command).parse(["--key", "hush"])
      Issue.record("the value is not valid")
    } catch {
      let line = "the value of --key is not valid; it must be a whole number from 0 to 9"
      #expect(error.failure.line == line)
    }
  }

  @Test func `generates help from the declarations`() throws {
    let play = try #require(CommandPath(Toy.root).child("play"))
    let text = Help().text(for: play)
    let ending = ExitCode.allCases.map { "\n  \($0.rawValue)  \($0.meaning)" }.joined()
    #expect(
      text == """
        toy play - play with a toy

        Usage: toy play --color COLOR [OPTIONS] NAME WORD...

        It is fun.

        Operands:
          NAME  who plays
          WORD  what is said

        Options:
          --size N         how large (default: 3)
          --color COLOR    its colour (required)
          --wait DURATION  a wait (default: no wait)
          --set KEY=VALUE  a setting (repeatable)
          --quiet          say less
          --help, -h       show this text

        DURATION is a number with the unit ms, s, m or h; without a unit, seconds.

        Examples:
          toy play --color red ann hello
              plays

        Exit codes:
        """ + ending)
    let tree = ["toy", "toy play", "toy rest", "toy rest more"]
    #expect(CommandPath(Toy.root).tree.map(\.text) == tree)
  }

  @Test func `every help text and manual page lists the exit codes of its program`() throws {
    let root = Command("toys", "all toys", exitCodes: [.done, .usage], commands: [Toy.root])
    let codes = "\n\nExit codes:\n  0  success\n  2  invalid command line"
    for path in CommandPath(root).tree { #expect(Help().text(for: path).hasSuffix(codes)) }
    let status = """
      .SH EXIT STATUS
      .TP
      \\fB0\\fR
      success
      .TP
      \\fB2\\fR
      invalid command line
      .SH
      """
    for page in ManualPage.all(root) { #expect(page.text.contains(status)) }
  }
}

@Suite struct CommandPartsTests {
  @Test(arguments: [
    ("", "", 0), ("a", "", 1), ("", "ab", 2), ("port", "port", 0), ("prot", "port", 1),
    ("prt", "port", 1), ("poort", "port", 1), ("pork", "port", 1), ("ca", "abc", 3),
  ])
  func `counts the edits between two words`(left: String, right: String, distance: Int) {
    #expect(Spelling.distance(from: left, to: right) == distance)
    #expect(Spelling.distance(from: right, to: left) == distance)
  }

  @Test(arguments: [
    ("--prot", "--port"), ("--hots", "--host"), ("--pong", "--pong-timeout"), ("--xyz", nil),
    ("--p", "--port"), ("--portx", "--port"), ("--portxyz", "--port"), ("--portwxyz", nil),
    (String(repeating: "a", count: 1_000_000), nil),
  ])
  func `finds the nearest word`(wrong: String, meant: String?) {
    let names = ["--host", "--port", "--ping-interval", "--pong-timeout"]
    #expect(Spelling.nearest(to: wrong, among: names) == meant)
  }

  @Test(arguments: [
    ("90s", Duration.seconds(90)), ("15m", .seconds(900)), ("90", .seconds(90)),
    ("1.5", .milliseconds(1500)), ("1s", .seconds(1)), ("999ms", nil), ("1h", .seconds(3600)),
    ("3601s", nil), ("", nil), ("s", nil), ("-1", nil), ("1 s", nil), ("١", nil),
  ])
  func `parses durations`(text: String, duration: Duration?) throws {
    let wait = Parameter.optional("wait", .duration(.seconds(1) ... .seconds(3600)), "a wait")
    let root = Command(
      "toy", "toys", commands: [Command("wait", "", examples: [], takes: wait) { _ in }])
    let parser = Parser(root)
    let request = try? parser.parse(["wait", "--wait=\(text)"])
    guard case .run(_, let arguments) = request else {
      #expect(duration == nil)
      return
    }
    #expect(arguments[wait] == duration)
  }

  @Test func `maps each failure of a link to an exit code`() {
    let codes: [(LinkFailure, ExitCode)] = [
      (.tls(.expired, detail: ""), .security), (.refused, .unreachable),
      (.dns(detail: ""), .unreachable), (.timeout(.connect), .unreachable),
      (.http(status: 401, retryAfter: nil, detail: ""), .signInNeeded),
      (.closed(code: 4401, reason: ""), .signInNeeded),
      (.http(status: 403, retryAfter: nil, detail: ""), .forbidden),
      (.closed(code: 4403, reason: ""), .forbidden),
      (.http(status: 503, retryAfter: nil, detail: ""), .unreachable),
      (.http(status: 500, retryAfter: nil, detail: ""), .failed),
      (.http(status: 413, retryAfter: nil, detail: ""), .failed),
      (.local(detail: ""), .failed),
    ]
    for (failure, code) in codes { #expect(ExitCode(failure) == code, "\(failure)") }
  }

  @Test func `prints a failure on one line`() {
    #expect(CommandFailure(.failed, "a\nb", remedy: "c").line == "a b; c")
    #expect(CommandFailure(.failed, "a").line == "a")
  }

  @Test func `aligns tables without spaces at line ends`() {
    var table = Table("A", "LONG", "C")
    table.row("wide", "", "")
    table.row("x", "y", "z")
    #expect(
      table.lines(Style(isColourful: false)) == ["A     LONG  C", "wide", "x     y     z"])
    #expect(table.lines(Style(isColourful: true)).first == "\u{1B}[1mA     LONG  C\u{1B}[0m")
  }
}
