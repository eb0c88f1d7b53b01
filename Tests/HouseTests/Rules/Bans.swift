/// A spelling that is not used, and what is used instead.
struct Ban: Sendable {
  /// What makes the same spelling harmless.
  enum Unless: Sendable {
    case never
    /// It is the label of an argument, such as `default:` of a dictionary.
    case argument
    /// The rest of the line holds this, such as the generator that is drawn from.
    case with(String)
  }

  let spelling: String
  let instead: String
  var unless = Unless.never

  init(_ spelling: String, _ instead: String, unless: Unless = .never) {
    self.spelling = spelling
    self.instead = instead
    self.unless = unless
  }

  var what: String { "`\(spelling)`: \(instead)" }

  /// Whether `line` holds the spelling, not as a piece of a longer word.
  func matches(_ line: String) -> Bool {
    guard line.contains(spelling) else { return false }
    let line = Array(line.utf8)
    let word = Array(spelling.utf8)
    return (0...(line.count - word.count)).contains { start in
      guard line[start...].starts(with: word) else { return false }
      let end = start + word.count
      let joinsLeft = isWord(word[0]) && start > 0 && isWord(line[start - 1])
      let joinsRight = isWord(word[word.count - 1]) && end < line.count && isWord(line[end])
      return !joinsLeft && !joinsRight && !isHarmless(line[..<start], line[end...])
    }
  }

  private func isHarmless(_ before: ArraySlice<UInt8>, _ after: ArraySlice<UInt8>) -> Bool {
    switch unless {
    case .never: return false
    case .argument:
      let last = before.last { $0 != UInt8(ascii: " ") }
      return last.map { [UInt8]("([,".utf8).contains($0) } ?? false
    case .with(let text): return String(decoding: after, as: UTF8.self).contains(text)
    }
  }
}

/// Whether `byte` can be part of an identifier.
func isWord(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
    true
  case _: false
  }
}

extension Rules {
  /// Folders that hold values only.
  static let pureFolders = pureImports.map(\.folder)

  static let impure = [
    Ban("Foundation", "take what it would answer as a value"),
    Ban("FoundationEssentials", "take what it would answer as a value"),
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
    Ban(".random(", "draw from the generator in the state", unless: .with("using:")),
    Ban(".randomElement()", "draw from the generator in the state"),
    Ban(".shuffled()", "draw from the generator in the state"),
    Ban("SystemRandomNumberGenerator", "draw from the generator in the state"),
    Ban("print(", "return an effect, or let the journal tell it"),
  ]

  /// Folders that hold values only neither look at the clock nor roll dice nor start anything.
  static func purity(_ file: SourceFile) -> [Breach] {
    guard pureFolders.contains(where: file.isUnder) else { return [] }
    return find(impure, in: file.code, of: file)
  }

  static let unsafe = [
    Ban("@unchecked Sendable", "an actor, a `Mutex` or a value"),
    Ban("nonisolated(unsafe)", "an actor, a `Mutex` or a value"),
    Ban("try!", "a typed error"),
    Ban("as!", "`as?` and an answer for the other case"),
    Ban("fatalError", "a typed error, or `preconditionFailure` with the proof in a comment"),
  ]

  /// What the compiler cannot vouch for is not written.
  static func safety(_ file: SourceFile) -> [Breach] {
    find(unsafe, in: file.code, of: file)
  }

  static let leftovers = ["TODO", "FIXME", "XXX"].map { Ban($0, "do it, or write an issue") }

  /// Comments say why, not what is still to be done.
  static func nothingLeftOver(_ file: SourceFile) -> [Breach] {
    file.isMarkdown ? [] : find(leftovers, in: file.comments, of: file)
  }

  static let sleeps = ["Task.sleep", "Thread.sleep", "usleep(", "nanosleep("]
    .map { Ban($0, "wait for the event itself") }

  /// A test waits for what happens; time that passes proves nothing.
  static func noSleep(_ file: SourceFile) -> [Breach] {
    guard file.isUnder("Tests") else { return [] }
    let bare = Ban("sleep(", "wait for the event itself")
    let plain = file.code.map { line in
      let isOther = line.contains(".sleep(") || line.contains("func sleep(")
      return isOther ? "" : line
    }
    return find(sleeps, in: file.code, of: file) + find([bare], in: plain, of: file)
  }

  // In two pieces, so that this file does not break the rule it states.
  static let workplaces = ["/" + "work/", "/tmp/" + "wt", "/tmp/" + "plan", "/" + "root/"]

  /// Text speaks of this repository, not of the machine that it was written on.
  static func noWorkplace(_ file: SourceFile) -> [Breach] {
    file.lines.indices.flatMap { index in
      workplaces.filter { mentions(file.lines[index], $0) }
        .map { Breach(file, index, "`\($0)`: a path relative to the package") }
    }
  }

  /// A path that only begins elsewhere, such as `~/work/` or a URL, is another path.
  private static func mentions(_ line: String, _ path: String) -> Bool {
    guard let range = line.firstRange(of: path) else { return false }
    guard range.lowerBound > line.startIndex else { return true }
    let before = line[line.index(before: range.lowerBound)]
    return !(before.isLetter || before.isNumber || "~.-_})".contains(before))
  }

  private static func find(_ bans: [Ban], in lines: [String], of file: SourceFile) -> [Breach] {
    bans.flatMap { ban in
      lines.indices.filter { ban.matches(lines[$0]) }.map { Breach(file, $0, ban.what) }
    }
  }
}
