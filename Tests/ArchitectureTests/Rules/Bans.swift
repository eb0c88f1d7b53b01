/// A banned spelling and its replacement.
struct Ban: Sendable {
  let spelling: String
  let instead: String
  /// A text that makes the spelling acceptable if the text follows on the same line, such as
  /// `using:`.
  let unless: String?

  init(_ spelling: String, _ instead: String, unless: String? = nil) {
    self.spelling = spelling
    self.instead = instead
    self.unless = unless
  }

  var what: String { "`\(spelling)`: \(instead)" }

  /// Returns whether a line contains the spelling as a whole word.
  func matches(_ line: String) -> Bool {
    guard line.holds(spelling) else { return false }
    return line.ranges(of: spelling).contains { range in
      let before = line[..<range.lowerBound].last
      let after = line[range.upperBound...].first
      let joinsLeft = isIdentifierPart(spelling.first) && isIdentifierPart(before)
      let joinsRight = isIdentifierPart(spelling.last) && isIdentifierPart(after)
      let isHarmless = unless.map { line[range.upperBound...].contains($0) } ?? false
      return !joinsLeft && !joinsRight && !isHarmless
    }
  }

  private func isIdentifierPart(_ character: Character?) -> Bool {
    character.map { $0.isLetter || $0.isNumber || $0 == "_" } ?? false
  }
}

extension Rules {
  static let impure = [
    Ban("Foundation", "take the result as a value"),
    Ban("FoundationEssentials", "take the result as a value"),
    Ban("Dispatch", "return an effect"),
    Ban("Synchronization", "hold values only"),
    Ban("Glibc", "return an effect"),
    Ban("ContinuousClock", "take `at now: Instant`"),
    Ban("SuspendingClock", "take `at now: Instant`"),
    Ban("Date(", "take a `Timestamp`"),
    Ban("Date.now", "take a `Timestamp`"),
    Ban("UUID(", "take the id, or draw it from the generator in the state"),
    Ban("Task {", "return an effect"),
    Ban("Task.sleep", "set a deadline"),
    Ban("Task.detached", "return an effect"),
    Ban("await", "return an effect and take its result as an input"),
    Ban("DispatchQueue", "return an effect"),
    Ban(".random(", "draw from the generator in the state", unless: "using:"),
    Ban(".randomElement()", "draw from the generator in the state"),
    Ban(".shuffled()", "draw from the generator in the state"),
    Ban("SystemRandomNumberGenerator", "draw from the generator in the state"),
    Ban("print(", "return an effect, or rely on the journal"),
  ]

  /// Returns the uses of clocks, random sources, tasks and system libraries in a pure file.
  static func purity(_ file: SourceFile) -> [Breach] { find(impure, in: file.code, of: file) }

  /// Returns the wildcards over enumerations in a file of a pure module.
  ///
  /// Every case must be named, so that a new case causes an error wherever it matters. `switch`,
  /// `case` and `default` are matched by their column, in which `swift format` aligns them.
  static func wildcards(_ file: SourceFile) -> [Breach] {
    var switchesOverCases: Set<Int> = []
    return file.code.indices.compactMap { line in
      let text = file.code[line].drop { $0 == " " }
      let column = file.code[line].count - text.count
      if switchBan.matches(file.code[line]) { switchesOverCases.remove(column) }
      if text.hasPrefix("case ."), !text.hasPrefix("case ..") { switchesOverCases.insert(column) }
      let isWildcard = text.hasPrefix("case _:") && switchesOverCases.contains(column)
      guard isWildcard || text.hasPrefix("default:") else { return nil }
      return Breach(file, line, "name each case; `case _:` is for open sets, such as numbers")
    }
  }

  private static let switchBan = Ban("switch", "")

  static let unsafe = [
    Ban("@unchecked Sendable", "an actor, a `Mutex` or a value"),
    Ban("nonisolated(unsafe)", "an actor, a `Mutex` or a value"),
    Ban("as!", "`as?`, and handle the other case"),
    Ban("fatalError", "a typed error, or `preconditionFailure` with the proof in a comment"),
  ]

  /// Returns the uses of constructs that bypass the compiler's checks.
  ///
  /// A delegate of Apple's frameworks is a class that is confined to its queue. Such a file checks the
  /// queue, and passes completion handlers that Apple does not declare Sendable.
  static func safety(_ file: SourceFile) -> [Breach] {
    // Files that a check must reject repeat the declarations of Apple's modules.
    guard !file.isUnder("Apple/Checks/Failing") else { return [] }
    var allowed: [String] = []
    if file.isUnder("Sources/Apple") || file.path.hasPrefix("Tests/Apple") {
      allowed = ["nonisolated(unsafe)"]
      let isConfined = file.code.contains { $0.holds("dispatchPrecondition") }
      if isConfined || file.isUnder("Tests") { allowed.append("@unchecked Sendable") }
    }
    return find(unsafe.filter { !allowed.contains($0.spelling) }, in: file.code, of: file)
  }

  static let decisions = [
    Ban("Task.sleep", "let the machine set a deadline"),
    Ban("asyncAfter", "let the machine set a deadline"),
    Ban("Timer", "let the machine set a deadline"),
    Ban("UIApplication.shared", "take the application from the app's delegate"),
  ]

  /// Returns the timers in adapters of Apple's frameworks, which decide nothing.
  static func noDecisions(_ file: SourceFile) -> [Breach] {
    file.isUnder("Sources/Apple") ? find(decisions, in: file.code, of: file) : []
  }

  // The spelling is split in two, so that this file does not violate its own rule.
  static let leftovers = ["TODO", "FIXME", "XXX"]
    .map { Ban("// " + $0, "do it, or write an issue") }

  /// Returns the comments that mark unfinished work.
  static func nothingLeftOver(_ file: SourceFile) -> [Breach] {
    find(leftovers, in: file.lines, of: file)
  }

  static let sleeps = ["Task.sleep", "Thread.sleep", "usleep(", "nanosleep(", " sleep("]
    .map { Ban($0, "wait for the event itself") }

  /// Returns the sleeps in tests. Tests must wait for an event instead of a fixed time.
  static func noSleep(_ file: SourceFile) -> [Breach] {
    file.isUnder("Tests") ? find(sleeps, in: file.code, of: file) : []
  }

  private static func find(_ bans: [Ban], in lines: [String], of file: SourceFile) -> [Breach] {
    bans.filter { file.holds($0.spelling) }.flatMap { ban in
      lines.indices.filter { ban.matches(lines[$0]) }.map { Breach(file, $0, ban.what) }
    }
  }
}
