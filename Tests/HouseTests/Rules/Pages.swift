extension Rules {
  /// A page has one title, and everything else stands below it.
  static func oneTitle(_ page: SourceFile) -> [Breach] {
    let titles = prose(page).filter { $0.text.hasPrefix("# ") }
    guard titles.count != 1 else { return [] }
    let line = titles.dropFirst().first?.line ?? 0
    return [Breach(page, line, "\(titles.count) titles, exactly one wanted")]
  }

  /// A relative link leads to a file of this repository.
  static func links(_ page: SourceFile, exists: (String) -> Bool) -> [Breach] {
    prose(page).flatMap { line, text in
      targets(in: text).filter { !exists(resolve($0, from: page.path)) }
        .map { Breach(page, line, "`\($0)` leads nowhere") }
    }
  }

  /// Each room is on the map.
  static func mapped(_ folders: [String], on map: SourceFile) -> [Breach] {
    folders.filter { folder in
      let name = folder.split(separator: "/").last.map(String.init) ?? folder
      return !map.lines.contains { Ban(name, "").matches($0) }
    }.map { Breach(map, 0, "does not mention \($0)") }
  }

  /// The lines outside fenced code.
  private static func prose(_ page: SourceFile) -> [(line: Int, text: String)] {
    var isCode = false
    return page.lines.enumerated().compactMap { line, text in
      if text.drop(while: { $0 == " " }).hasPrefix("```") {
        isCode.toggle()
        return nil
      }
      return isCode ? nil : (line, text)
    }
  }

  /// Targets of `[text](target)` on this machine, without their fragment.
  private static func targets(in line: String) -> [String] {
    line.ranges(of: "](").compactMap { range in
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
