extension Rules {
  /// The cases of each enum that the given files declare.
  ///
  /// Found by the shape of the text: an `enum`, and the lines of its body that begin with `case`.
  static func enums(in files: [SourceFile]) -> [Set<String>] {
    files.flatMap { file -> [Set<String>] in
      guard file.isUnder("Sources") else { return [] }
      let code = Array(file.named.joined(separator: "\n").utf8)
      return Scan.words("enum", in: code).compactMap { start in
        guard let body = Scan.body(from: start, in: code) else { return nil }
        let names = Scan.labels(in: body, of: code, isPattern: false).flatMap { label in
          label.patterns.compactMap(Scan.firstWord)
        }
        return names.isEmpty ? nil : Set(names)
      }
    }
  }

  /// No enum of ours is matched with a wildcard: a new case is an error wherever it matters.
  ///
  /// A switch breaks the rule if it has `default:`, or `case _:` (or `case let x:`) beside cases
  /// that one enum of ours names all. Switches over bytes, numbers, characters, strings and
  /// foreign enums pass, because no enum of ours has the names. In a tuple each place counts by
  /// itself, and a row with a wildcard passes if it also names a case of an enum whose cases the
  /// switch names all. A switch over names that one of ours has by chance says so in a comment on
  /// the line of its wildcard: `// open set: why`.
  static func wildcards(_ file: SourceFile, enums: [Set<String>]) -> [Breach] {
    guard file.isUnder("Sources") else { return [] }
    let code = Array(file.named.joined(separator: "\n").utf8)
    return Scan.words("switch", in: code).flatMap { start -> [Breach] in
      guard let body = Scan.body(from: start, in: code) else { return [] }
      let labels = Scan.labels(in: body, of: code, isPattern: true)
      return labels.filter { label in
        let line = Scan.line(of: label.start, in: code)
        return !file.comments[line].contains("open set: ") && swallows(label, labels, enums)
      }.map {
        Breach(
          file, Scan.line(of: $0.start, in: code), "name each case; `case _:` only over open sets")
      }
    }
  }

  private static func swallows(
    _ label: Scan.Label, _ labels: [Scan.Label], _ enums: [Set<String>]
  ) -> Bool {
    if label.isDefault { return true }
    let rows = labels.flatMap(\.patterns).map(Pattern.init)
    func names(_ place: Int, of count: Int) -> Set<String> {
      Set(rows.compactMap { $0.name(at: place, of: count) }).subtracting(["some", "none"])
    }
    return label.patterns.map(Pattern.init).contains { row in
      let places = row.places.indices
      let count = row.places.count
      if places.contains(where: {
        row.name(at: $0, of: count) != nil && enums.contains(names($0, of: count))
      }) {
        return false
      }
      return places.contains { place in
        let names = names(place, of: count)
        return row.places[place] == .any && !names.isEmpty && enums.contains(where: names.isSubset)
      }
    }
  }
}

/// What one pattern of a switch says of each place of a tuple; anything else has one place.
private struct Pattern {
  enum Place: Equatable {
    /// `_` or `let x`.
    case any
    /// `.name`, `Type.name`, with or without a payload.
    case named(String)
    /// A literal, a range, a type, `nil`.
    case other
  }

  let places: [Place]

  init(_ text: String) {
    if text.hasPrefix("("), text.hasSuffix(")") {
      places = Scan.split(text.dropFirst().dropLast()).map(Self.place)
    } else {
      places = [Self.place(text)]
    }
  }

  /// The case that the pattern names at a place of tuples of `count` places.
  ///
  /// A wildcard for a whole tuple stands for each of its places.
  func name(at place: Int, of count: Int) -> String? {
    guard places.count == count || count == 1 else { return nil }
    let found = places.count == count ? [places[place]] : places
    for case .named(let name) in found { return name }
    return nil
  }

  private static func place(_ text: String) -> Place {
    var words = text.split(separator: " ").map(String.init)
    if let first = words.first, first == "let" || first == "var" { words.removeFirst() }
    guard let head = words.first else { return .other }
    if head.hasPrefix("is") && words.count > 1 { return .other }
    if head.hasPrefix("\"") || head == "nil" { return .other }
    if let range = head.firstRange(of: ".") {
      let isType = head[..<range.lowerBound].allSatisfy { $0.isLetter || $0.isNumber }
      let name = head[range.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      let startsLow = name.first.map { $0.isLowercase } ?? false
      return isType && startsLow ? .named(String(name)) : .other
    }
    let isName = head.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    guard isName, words.count == 1 else { return .other }
    let isBinding = text.hasPrefix("let ") || text.hasPrefix("var ")
    return head == "_" || isBinding ? .any : .other
  }
}
