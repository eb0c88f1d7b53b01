import HoldfastCommandKit
import HoldfastCore
import Testing

/// A command whose options are also given by variables and a file.
private enum Kiln {
  static let heat = Parameter.option("heat", .integer("N", 1...1_300), default: 20, "how hot")
  static let wait = Parameter.option(
    "cool-down", .duration(.zero ... .seconds(60)), default: .seconds(5), "a wait")
  static let owner = Parameter.optional("owner", .text("NAME"), usual: "nobody", "who fires it")
  static let clay = Parameter.repeated("clay", .text("KIND"), "a kind of clay")
  static let code = Parameter.optional("code", .integer("N", 0...9), isSecret: true, "a secret")
  static let fan = Parameter.flag("fan", "use the fan")
  static let now = Parameter.flag("now", "begin at once").commandLineOnly()
  static let owned = Parameter.optional("owner-file", .text("FILE"), "who fires it, in a file")

  static let root = Command(
    "kiln", "a kiln",
    commands: [
      Command(
        "fire", "fire pots", examples: [], variables: "KILN_",
        takes: Shared.config, heat, wait, owner, clay, code, fan, now, owned
      ) { _ in }
    ])

  /// Parses a command line with variables and files.
  static func parse(
    _ line: String = "", _ variables: [String: String] = [:], file text: String? = nil,
    isOpen: Bool = false, others: [String: String] = [:]
  ) throws -> Arguments {
    let (path, variables) = ("kiln.toml", variables)
    var files = others
    files[path] = text
    let parser = Parser(root, environment: { variables[$0] }) {
      [files] name, source throws(CommandFailure) in
      guard let text = files[name] else {
        throw CommandFailure(.failed, "\(name) of \(source) cannot be read")
      }
      return OptionFile(bytes: Array(text.utf8), isOpenToOthers: isOpen)
    }
    let words = line.split(separator: " ").map(String.init)
    let config = text == nil ? [] : ["--config", path]
    guard case .run(_, let arguments) = try parser.parse(["fire"] + words + config) else {
      throw NothingToRun()
    }
    return arguments
  }

  /// Returns the message for invalid values; `nil` if they are valid.
  static func complaint(
    _ line: String = "", _ variables: [String: String] = [:], file: String? = nil,
    isOpen: Bool = false, others: [String: String] = [:]
  ) -> String? {
    do {
      _ = try parse(line, variables, file: file, isOpen: isOpen, others: others)
      return nil
    } catch let error as ParseFailure {
      return error.failure.line
    } catch {
      return "\(error)"
    }
  }

  struct NothingToRun: Error {}
}

@Suite struct OptionSourceTests {
  @Test func `the command line goes before the environment, and the environment before the file`()
    throws
  {
    let file = "heat = 3\ncool-down = \"3s\"\nclay = ['c', 'd']\nfan = true\nowner = 'file'"
    let alone = try Kiln.parse(file: file)
    #expect(alone[Kiln.heat] == 3 && alone[Kiln.wait] == .seconds(3) && alone[Kiln.fan])
    #expect(alone[Kiln.clay] == ["c", "d"] && alone[Kiln.owner] == "file")
    let variables = [
      "KILN_HEAT": "2", "KILN_COOL_DOWN": "2", "KILN_CLAY": " b\ta ", "KILN_FAN": "false",
      "KILN_OWNER": "",
    ]
    let both = try Kiln.parse("", variables, file: file)
    #expect(both[Kiln.heat] == 2 && both[Kiln.wait] == .seconds(2) && !both[Kiln.fan])
    // An empty variable counts as unset, and lists are not joined.
    #expect(both[Kiln.clay] == ["b", "a"] && both[Kiln.owner] == "file")
    let all = try Kiln.parse("--heat 1 --clay x --fan --owner me", variables, file: file)
    #expect(all[Kiln.heat] == 1 && all[Kiln.wait] == .seconds(2) && all[Kiln.fan])
    #expect(all[Kiln.clay] == ["x"] && all[Kiln.owner] == "me")
    let none = try Kiln.parse()
    #expect(none[Kiln.heat] == 20 && none[Kiln.owner] == nil && none[Kiln.clay] == [])
  }

  @Test func `a number in the file stands for its digits`() throws {
    let arguments = try Kiln.parse(file: "cool-down = 7\nowner = 1_000\nclay = [1, -2]")
    #expect(arguments[Kiln.wait] == .seconds(7))
    #expect(arguments[Kiln.owner] == "1000" && arguments[Kiln.clay] == ["1", "-2"])
  }

  @Test func `a variable may name a file, and another a configuration file`() throws {
    let files = ["/run/owner": "ann\n", "/run/clay": "red\nwhite\n", "/etc/kiln": "heat = 9"]
    let variables = [
      "KILN_COOL_DOWN_FILE": "/run/wait", "KILN_CLAY_FILE": "/run/clay", "KILN_CONFIG": "/etc/kiln",
    ]
    let more = files.merging(["/run/wait": "4s\r\n"]) { $1 }
    let arguments = try Kiln.parse("", variables, others: more)
    #expect(arguments[Kiln.wait] == .seconds(4) && arguments[Kiln.heat] == 9)
    #expect(arguments[Kiln.clay] == ["red", "white"])
    // Here it is an option of its own.
    let owned = try Kiln.parse("", ["KILN_OWNER_FILE": "/run/owner"], others: files)
    #expect(owned[Kiln.owner] == nil && owned[Kiln.owned] == "/run/owner")
  }

  @Test(arguments: [
    (
      ["KILN_HEAT": "x"],
      "$KILN_HEAT cannot be \"x\"; it must be a whole number from 1 to 1300"
    ),
    (["KILN_FAN": "1"], "$KILN_FAN is neither true nor false; set it to one of them"),
    (
      ["KILN_CODE": "hush"],
      "the value of $KILN_CODE is not valid; it must be a whole number from 0 to 9"
    ),
    (
      ["KILN_HEAT": "1", "KILN_HEAT_FILE": "f"],
      "$KILN_HEAT and $KILN_HEAT_FILE are both set; unset one of them"
    ),
    (["KILN_HEAT_FILE": "f"], "f of $KILN_HEAT_FILE cannot be read"),
    (
      ["KILN_HEAT_FILE": "hot"],
      "the content of hot ($KILN_HEAT_FILE) cannot be \"much\"; "
        + "it must be a whole number from 1 to 1300"
    ),
    (["KILN_CONFIG": "f"], "f of $KILN_CONFIG cannot be read"),
    (["KILN_NOW": "true", "KILN_FAN_FILE": "f", "KILN_HEET": "x"], nil),
  ])
  func `a wrong variable is named`(variables: [String: String], complaint: String?) {
    #expect(Kiln.complaint("", variables, others: ["hot": "much"]) == complaint)
  }

  @Test(arguments: [
    ("heat = 0", "1:8: heat cannot be \"0\"; it must be a whole number from 1 to 1300"),
    ("\nheat = \"hot\"", "2:8: heat cannot be \"hot\"; it must be a whole number from 1 to 1300"),
    ("heat = true", "1:8: heat cannot be true or false; it must be a whole number from 1 to 1300"),
    ("heat = [1]", "1:8: heat cannot be a list; it must be a whole number from 1 to 1300"),
    ("heet = 1", "1:1: unknown option heet; did you mean heat?"),
    ("xyzzy = 1", "1:1: unknown option xyzzy; kiln fire --help lists the options"),
    ("Heat = 1", "1:1: unknown option Heat; did you mean heat?"),
    ("fan = 1", "1:7: fan cannot be a text or a number; it must be true or false"),
    ("fan = []", "1:7: fan cannot be a list; it must be true or false"),
    ("clay = 'a'", "1:8: clay cannot be a single value; write a list, such as clay = [\"…\"]"),
    (
      "clay = [true]",
      "1:9: clay cannot contain true or false; each value must be a text that is not empty"
    ),
    ("clay = ['']", "1:9: clay cannot be \"\"; it must be a text that is not empty"),
    ("now = true", "1:1: now cannot be given in a file; use --now on the command line"),
    ("config = 'x'", "1:1: config cannot be given in a file; use --config on the command line"),
    (
      "code = 'hush'",
      "1:8: the value of code is not valid; it must be a whole number from 0 to 9"
    ),
    ("[kiln]", "1:1: tables are not supported; write the whole name of each option as a key"),
    ("heat = 1\nheat = 2", "2:1: line 1 has the same key; remove one of the two"),
  ])
  func `a wrong line is named, also if it is overridden`(text: String, complaint: String) {
    let whole = "kiln.toml:\(complaint)"
    #expect(Kiln.complaint(file: text) == whole)
    let line = "--heat 1 --fan --clay a --code 1"
    #expect(Kiln.complaint(line, file: text) == whole)
  }

  @Test func `a secret in a file that others can read is refused, and reported for a variable`()
    throws
  {
    #expect(
      Kiln.complaint(file: "heat = 1\ncode = 1", isOpen: true)
        == "kiln.toml:2:1: users other than its owner can read or change this file with a secret; "
        + "run chmod 600 kiln.toml")
    #expect(try Kiln.parse(file: "code = 1")[Kiln.code] == 1)
    #expect(Kiln.complaint(file: "heat = 1", isOpen: true) == nil)
    let mounted = try Kiln.parse("", ["KILN_CODE_FILE": "c"], isOpen: true, others: ["c": "7"])
    #expect(mounted[Kiln.code] == 7)
  }

  @Test func `changed options are those with another meaning`() throws {
    let before = try Kiln.parse("--clay a", file: "heat = 20\ncool-down = '5s'")
    let same = try Kiln.parse("--clay a", ["KILN_COOL_DOWN": "5000ms"], file: "# all defaults")
    #expect(same.changedOptions(since: before) == [])
    var after = try Kiln.parse("--clay a", file: "heat = 21\nfan = true\ncode = 1\nclay = ['b']")
    #expect(after.changedOptions(since: before) == ["heat", "code", "fan"])
    after.adopt(["heat", "fan"], of: before)
    #expect(after.changedOptions(since: before) == ["code"])
    #expect(after[Kiln.heat] == 20 && !after[Kiln.fan])
  }

  @Test func `the help names the variables and the order once`() throws {
    let path = try #require(CommandPath(Kiln.root).child("fire"))
    let help = Help().text(for: path).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(
      help.contains(
        "Each option can also be given by an environment variable, such as KILN_COOL_DOWN for "
          + "--cool-down, or by its name in the file of --config. The command line overrides the "
          + "environment, and the environment overrides the file. KILN_COOL_DOWN_FILE names a file "
          + "with the value."))
    #expect(!Help().text(for: CommandPath(Kiln.root)).contains("KILN_"))
  }
}
