extension Rules {
  /// Returns the relative links whose target is not a file of this repository.
  static func links(_ page: SourceFile, exists: (String) -> Bool) -> [Breach] {
    var isCode = false
    return page.lines.enumerated().flatMap { line, text -> [Breach] in
      if text.drop(while: { $0 == " " }).hasPrefix("```") { isCode.toggle() }
      if isCode { return [] }
      return targets(in: text).filter { !exists(resolve($0, from: page.path)) }
        .map { Breach(page, line, "`\($0)` leads nowhere") }
    }
  }

  /// Returns the folders of modules that a page does not mention.
  static func mapped(_ folders: [String], on map: SourceFile) -> [Breach] {
    folders.filter { !map.lines.joined(separator: " ").contains(" \($0)/ ") }
      .map { Breach(map, 0, "does not mention \($0)") }
  }

  // Each path is split in two, so that this file does not violate its own rule.
  private static let workplaces = ["/" + "work/", "/tmp/" + "wt", "/tmp/" + "plan", "/" + "root/"]

  /// Returns the paths that only exist on the machine on which a text was written.
  static func noWorkplace(_ file: SourceFile) -> [Breach] {
    let places = workplaces.filter(file.holds)
    return file.lines.indices.flatMap { index in
      places.filter { mentions(file.lines[index], $0) }
        .map { Breach(file, index, "`\($0)`: a path relative to the package") }
    }
  }

  /// Returns whether a line contains a path that is not part of a longer path, such as `~/work/`,
  /// or of a URL.
  private static func mentions(_ line: String, _ path: String) -> Bool {
    guard line.holds(path), let range = line.firstRange(of: path) else { return false }
    guard let before = line[..<range.lowerBound].last else { return true }
    return !(before.isLetter || before.isNumber || "~.-_})".contains(before))
  }

  /// Returns the targets of `[text](target)` that are paths, without fragments.
  private static func targets(in line: String) -> [String] {
    (line.holds("](") ? line.ranges(of: "](") : []).compactMap { range in
      guard let end = line[range.upperBound...].firstIndex(of: ")") else { return nil }
      let target = line[range.upperBound..<end].prefix { $0 != " " }
      guard !target.contains("://"), !target.hasPrefix("mailto:"), !target.hasPrefix("#") else {
        return nil
      }
      return String(target.prefix { $0 != "#" })
    }
  }

  private static func resolve(_ target: String, from page: String) -> String {
    if target.hasPrefix("/") { return String(target.dropFirst()) }
    var path = page.split(separator: "/").dropLast()
    for step in target.split(separator: "/") where step != "." {
      if step == ".." { _ = path.popLast() } else { path.append(step) }
    }
    return path.joined(separator: "/")
  }
}
