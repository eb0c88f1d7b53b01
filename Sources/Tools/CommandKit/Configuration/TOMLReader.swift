/// A reader of the text of a `TOMLDocument`.
struct TOMLReader {
  private let scalars: [Unicode.Scalar]
  private var index = 0
  /// The number of the current line, and the index of its first scalar.
  private var (line, lineStart) = (1, 0)

  /// Creates a reader at the start of a text.
  ///
  /// - Throws: A fault if the text is not valid UTF-8.
  init(_ bytes: [UInt8]) throws(TOMLFault) {
    var (scalars, isValid) = ([Unicode.Scalar](), true)
    scalars.reserveCapacity(bytes.count)
    var (parser, iterator) = (Unicode.UTF8.ForwardParser(), bytes.makeIterator())
    reading: while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let encoded): scalars.append(Unicode.UTF8.decode(encoded))
      case .emptyInput: break reading
      case .error:
        isValid = false
        break reading
      }
    }
    self.scalars = scalars
    guard !isValid else { return }
    line = scalars.count { $0 == "\n" } + 1
    lineStart = scalars.lastIndex(of: "\n").map { $0 + 1 } ?? 0
    index = scalars.count
    throw fault("this is not UTF-8 text", "save the file as UTF-8")
  }

  private var current: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }
  private var next: Unicode.Scalar? { index + 1 < scalars.count ? scalars[index + 1] : nil }
  private var place: TextPlace { TextPlace(line: line, column: index - lineStart + 1) }

  private func fault(
    _ cause: String, _ remedy: String, at place: TextPlace? = nil
  ) -> TOMLFault {
    TOMLFault(place: place ?? self.place, cause: cause, remedy: remedy)
  }

  /// Reads all entries.
  mutating func readEntries() throws(TOMLFault) -> [TOMLDocument.Entry] {
    var entries: [TOMLDocument.Entry] = []
    var lines: [String: Int] = [:]
    if current == "\u{FEFF}" {
      throw fault("the file begins with a byte order mark", "save it as UTF-8 without one")
    }
    while true {
      try skipLines()
      guard current != nil else { return entries }
      let entry = try readEntry()
      if let line = lines.updateValue(entry.keyPlace.line, forKey: entry.key) {
        throw fault(
          "line \(line) has the same key", "remove one of the two", at: entry.keyPlace)
      }
      entries.append(entry)
      skipBlanks()
      guard try takeLineEnd() else {
        throw fault("the line does not end after the value", "give each key a line of its own")
      }
    }
  }

  private mutating func readEntry() throws(TOMLFault) -> TOMLDocument.Entry {
    guard current != "[" else {
      throw fault("tables are not supported", "write the whole name of each option as a key")
    }
    let keyPlace = place
    let key = try readKey()
    skipBlanks()
    if current == "." {
      throw fault("dotted keys are not supported", "write the whole name of the option as a key")
    }
    guard take("=") else { throw fault("an = is missing after the key", "write KEY = VALUE") }
    skipBlanks()
    let place = place
    let value = current == "[" ? try readList() : .single(try readScalar())
    return .init(key: key, keyPlace: keyPlace, value: value, place: place)
  }

  private mutating func readKey() throws(TOMLFault) -> String {
    switch current {
    case "\"": return try readBasicString()
    case "'": return try readLiteralString()
    case _:
      let start = index
      while let scalar = current, Self.isBare(scalar) { index += 1 }
      guard index > start else {
        throw fault("there is no key here", "write KEY = VALUE, or a comment after #")
      }
      return text(from: start)
    }
  }

  /// Reads a list, which may have several lines.
  private mutating func readList() throws(TOMLFault) -> TOMLDocument.Value {
    let start = place
    var elements: [TOMLDocument.Element] = []
    index += 1
    while true {
      try skipLines()
      if take("]") { return .list(elements) }
      guard current != nil else { throw unended(start) }
      guard current != "[" else {
        throw fault("lists in lists are not supported", "write one list of all values")
      }
      let place = place
      elements.append(.init(scalar: try readScalar(), place: place))
      try skipLines()
      if take(",") { continue }
      if take("]") { return .list(elements) }
      guard current != nil else { throw unended(start) }
      throw fault("a comma or ] is missing", "separate the values of a list by commas")
    }
  }

  private func unended(_ start: TextPlace) -> TOMLFault {
    fault("the list does not end", "write ] after its last value", at: start)
  }

  private mutating func readScalar() throws(TOMLFault) -> TOMLDocument.Scalar {
    switch current {
    case "\"": return .text(try readBasicString())
    case "'": return .text(try readLiteralString())
    case "{":
      throw fault("tables are not supported", "write the whole name of each option as a key")
    case "#", "\n", "\r", ",", "]", nil:
      throw fault("the value is missing", "write KEY = VALUE")
    case _: return try readWord()
    }
  }

  // MARK: Lines

  /// Skips white space, comments and empty lines.
  private mutating func skipLines() throws(TOMLFault) {
    skipBlanks()
    while current != nil, try takeLineEnd() { skipBlanks() }
  }

  private mutating func skipBlanks() {
    while current == " " || current == "\t" { index += 1 }
  }

  /// Skips a comment and the end of the line or the text. Returns `false` if something else is
  /// there.
  private mutating func takeLineEnd() throws(TOMLFault) -> Bool {
    if current == "#" {
      while let scalar = current, scalar != "\n", !(scalar == "\r" && next == "\n") {
        try demandText(scalar)
        index += 1
      }
    }
    if current == "\r" {
      guard next == "\n" else {
        throw fault("a carriage return is not the end of a line", "end lines with line feeds")
      }
      index += 1
    }
    guard current == "\n" else { return current == nil }
    index += 1
    (line, lineStart) = (line + 1, index)
    return true
  }

  /// Throws a fault for a control character other than a tab.
  private func demandText(_ scalar: Unicode.Scalar) throws(TOMLFault) {
    guard scalar.value >= 0x20 && scalar.value != 0x7F || scalar == "\t" else {
      throw fault("a control character", "remove it; strings may have escapes such as \\u0007")
    }
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard current == scalar else { return false }
    index += 1
    return true
  }

  private func text(from start: Int) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars[start..<index])
    return String(text)
  }

  /// Returns whether a key without quotation marks may contain a character.
  private static func isBare(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
    case _: false
    }
  }
}

// MARK: Strings

extension TOMLReader {
  private mutating func readLiteralString() throws(TOMLFault) -> String {
    try readString("'") { reader, scalar throws(TOMLFault) in
      try reader.demandText(scalar)
      reader.index += 1
      return scalar
    }
  }

  private mutating func readBasicString() throws(TOMLFault) -> String {
    try readString("\"") { reader, scalar throws(TOMLFault) in
      if scalar == "\\" { return try reader.readEscape() }
      try reader.demandText(scalar)
      reader.index += 1
      return scalar
    }
  }

  /// Reads a string on one line between two quotation marks. `read` reads one character.
  private mutating func readString(
    _ mark: Unicode.Scalar,
    _ read: (inout TOMLReader, Unicode.Scalar) throws(TOMLFault) -> Unicode.Scalar
  ) throws(TOMLFault) -> String {
    let start = place
    index += 1
    if current == mark, next == mark {
      throw fault(
        "strings of several lines are not supported", "write it on one line", at: start)
    }
    var text = String.UnicodeScalarView()
    while let scalar = current, scalar != "\n", scalar != "\r" {
      if take(mark) { return String(text) }
      text.append(try read(&self, scalar))
    }
    throw fault("the string does not end in its line", "write \(mark) after it", at: start)
  }

  private mutating func readEscape() throws(TOMLFault) -> Unicode.Scalar {
    let start = place
    index += 1
    guard let letter = current else {
      throw fault("the string does not end", "write \" after it", at: start)
    }
    index += 1
    switch letter {
    case "\"", "\\": return letter
    case "b": return "\u{8}"
    case "t": return "\t"
    case "n": return "\n"
    case "f": return "\u{C}"
    case "r": return "\r"
    case "u": return try readCode(digits: 4, from: start)
    case "U": return try readCode(digits: 8, from: start)
    case _:
      throw fault(
        "this escape does not exist", "write \\\\ for a backslash, or the string in '…'", at: start)
    }
  }

  private mutating func readCode(
    digits: Int, from start: TextPlace
  ) throws(TOMLFault) -> Unicode.Scalar {
    var code: UInt32 = 0
    for _ in 0..<digits {
      guard let scalar = current, scalar.isASCII, let digit = Character(scalar).hexDigitValue else {
        throw fault("this escape needs \(digits) hexadecimal digits", "add them", at: start)
      }
      code = code << 4 | UInt32(digit)
      index += 1
    }
    guard let scalar = Unicode.Scalar(code) else {
      throw fault("no character has this number", "write another escape", at: start)
    }
    return scalar
  }
}

// MARK: Numbers and booleans

extension TOMLReader {
  /// Reads a boolean or a whole number.
  private mutating func readWord() throws(TOMLFault) -> TOMLDocument.Scalar {
    let (start, place) = (index, place)
    while let scalar = current, Self.isBare(scalar) || "+.:".unicodeScalars.contains(scalar) {
      index += 1
    }
    let word = text(from: start)
    switch word {
    case "true": return .truth(true)
    case "false": return .truth(false)
    case _: break
    }
    let digits = word.first == "+" || word.first == "-" ? word.dropFirst() : word[...]
    guard let first = digits.first, first.isASCII, first.isNumber else {
      throw fault(
        "a value without quotation marks must be true, false or a whole number",
        "write text in quotation marks", at: place)
    }
    guard Self.isWhole(digits) else {
      throw fault(
        "this is not a whole number in decimal digits",
        "write text in quotation marks, also a fraction or a time", at: place)
    }
    guard let number = Int64(word.replacing("_", with: "")) else {
      throw fault("the number is too large", "write a smaller one", at: place)
    }
    return .integer(number)
  }

  /// Returns whether digits follow each other without a leading zero, and with at most one
  /// underscore between two of them.
  private static func isWhole(_ digits: Substring) -> Bool {
    let parts = digits.split(separator: "_", omittingEmptySubsequences: false)
    let isDecimal = parts.allSatisfy { part in
      !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
    return isDecimal && (digits == "0" || digits.first != "0")
  }
}
