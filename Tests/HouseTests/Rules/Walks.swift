extension Rules {
  /// Each walk beside a second account is named by a test in which it finds a difference.
  ///
  /// A walk is a structure whose name ends in `Walk`, behind another word. A test lets it find
  /// something by `finding`, `finds` or `expect` of its type, or of another name that the file has
  /// for the type.
  static func walks(_ file: SourceFile, tests: [SourceFile]) -> [Breach] {
    guard file.isUnder("Sources/Simulator") else { return [] }
    return file.code.enumerated().compactMap { line, code in
      guard let name = walk(declaredIn: code), !tests.contains(where: { finds(name, in: $0) })
      else { return nil }
      return Breach(file, line, "no test shows that \(name) can find something")
    }
  }

  private static func walk(declaredIn code: String) -> String? {
    let words = code.split { !$0.isLetter && !$0.isNumber }
    guard let place = words.firstIndex(of: "struct"), place + 1 < words.count else { return nil }
    let name = words[place + 1]
    return name.hasSuffix("Walk") && name != "Walk" ? String(name) : nil
  }

  private static func finds(_ walk: String, in file: SourceFile) -> Bool {
    let words = file.code.map { $0.split(separator: " ").map(String.init) }
    let others = words.filter { $0.count == 4 && $0[0] == "typealias" && $0[3] == walk }
    let names = [walk] + others.map { $0[1] }
    let calls = names.flatMap { name in ["finding", "finds", "expect"].map { "\(name).\($0)" } }
    return calls.map { Ban($0, "") }.contains { call in file.code.contains(where: call.matches) }
  }
}
