// The values that variables and a configuration file give to the options of a command.

extension Scan {
  /// Reads the options that were not given on the command line from variables. An empty variable
  /// counts as unset.
  mutating func readVariables() throws(ParseFailure) {
    for parameter in parameters where sources[parameter.label] == nil {
      if let name = parameter.variable, let value = variable(name) {
        try check(value, of: parameter, as: "$\(name)")
        store([value], for: parameter, from: .variable(name))
      } else {
        try readVariable(of: parameter)
      }
    }
  }

  private func variable(_ name: String) -> String? {
    environment(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  private mutating func readVariable(of option: Declaration) throws(ParseFailure) {
    guard let variables = path.command.variables, let name = variables.name(for: option) else {
      return
    }
    let fileName = variables.fileName(for: option, of: path.command)
    switch (variable(name), fileName.flatMap { variable($0) }) {
    case (nil, nil): return
    case (_?, _?): throw fault("$\(name) and $\(fileName ?? "") are both set", "unset one of them")
    case (let text?, nil):
      try take(text: text, for: option, from: .variable(name), as: "$\(name)")
    case (nil, let path?):
      let variable = fileName ?? name
      let source = ValueSource.variableFile(variable: variable, path: path)
      let text = try content(of: path, variable, for: option)
      try take(text: text, for: option, from: source, as: "the content of \(source.text)")
    }
  }

  /// Returns the text of a file without its last line end.
  private mutating func content(
    of path: String, _ variable: String, for option: Declaration
  ) throws(ParseFailure) -> String {
    let file = try read(path, for: "$\(variable)")
    guard var text = String(validating: file.bytes, as: UTF8.self) else {
      throw fault("\(path) ($\(variable)) is not UTF-8 text", "save it as UTF-8")
    }
    if text.last?.isNewline == true { text.removeLast() }
    // Containers mount the secrets of an orchestrator with mode 444.
    if option.isSecret, file.isOpenToOthers {
      warnings.append("other users of this machine can read \(path); run chmod 600 on it")
    }
    return text
  }

  private func read(_ path: String, for source: String) throws(ParseFailure) -> OptionFile {
    do throws(CommandFailure) {
      return try files(path, source)
    } catch {
      throw ParseFailure(self.path, error)
    }
  }

  /// Stores the value of an option in the form that it has in a variable.
  private mutating func take(
    text: String, for option: Declaration, from source: ValueSource, as name: String
  ) throws(ParseFailure) {
    guard option.kind != .flag else {
      guard text == "true" || text == "false" else {
        throw fault("\(name) is neither true nor false", "set it to one of them")
      }
      return store(text == "true" ? [""] : [], for: option, from: source)
    }
    let texts =
      switch option.count {
      case .repeated: text.split(whereSeparator: \.isWhitespace).map(String.init)
      case .required, .optional: [text]
      }
    for text in texts { try check(text, of: option, as: name) }
    store(texts, for: option, from: source)
  }

  /// Stores the values of a parameter, unless a source with a higher priority gives some.
  private mutating func store(
    _ texts: [String], for parameter: Declaration, from source: ValueSource
  ) {
    guard sources[parameter.label] == nil else { return }
    (values[parameter.label], sources[parameter.label]) = (texts, source)
  }

  // MARK: The configuration file

  /// Reads the file of `--config`. Each of its values is checked, even if it is overridden.
  mutating func readFile() throws(ParseFailure) {
    let option = Shared.config.declaration.label
    guard path.command.variables != nil, let name = values[option]?.last else { return }
    let source = sources[option].map { $0 == .commandLine ? option : $0.text } ?? option
    let file = try read(name, for: source)
    let document: TOMLDocument
    do throws(TOMLFault) {
      document = try TOMLDocument(file.bytes)
    } catch {
      throw fault(in: name, at: error.place, error.cause, error.remedy)
    }
    for entry in document.entries { try take(entry, of: name, isOpen: file.isOpenToOthers) }
  }

  private mutating func take(
    _ entry: TOMLDocument.Entry, of file: String, isOpen: Bool
  ) throws(ParseFailure) {
    let options = parameters.filter { $0.kind != .operand }
    guard let option = options.first(where: { $0.name == entry.key }) else {
      let nearest = Spelling.nearest(to: entry.key, among: options.map(\.name))
      throw fault(
        in: file, at: entry.keyPlace, "unknown option \(entry.key.prefix(80))",
        nearest.map { "did you mean \($0)?" } ?? "\(path.text) --help lists the options")
    }
    guard !option.isCommandLineOnly, option.label != Shared.config.declaration.label else {
      throw fault(
        in: file, at: entry.keyPlace, "\(entry.key) cannot be given in a file",
        "use \(option.label) on the command line")
    }
    if option.isSecret, isOpen {
      throw fault(
        in: file, at: entry.keyPlace,
        "users other than its owner can read or change this file with a secret",
        "run chmod 600 \(file)")
    }
    let texts = try texts(of: entry, for: option, file)
    for (text, place) in texts {
      let source = ValueSource.configuration(path: file, place)
      try check(text, of: option, as: entry.key, at: "\(source.text): ")
    }
    store(
      texts.map(\.text), for: option,
      from: .configuration(path: file, entry.place))
  }

  /// Returns the texts of a value as they would be on a command line, and their places.
  private func texts(
    of entry: TOMLDocument.Entry, for option: Declaration, _ file: String
  ) throws(ParseFailure) -> [(text: String, place: TextPlace)] {
    func wrong(_ what: String, _ remedy: String) -> ParseFailure {
      fault(in: file, at: entry.place, "\(entry.key) cannot be \(what)", remedy)
    }
    let expected = "it must be \(option.expectation)"
    switch (option.kind, option.count, entry.value) {
    case (.flag, _, .single(.truth(let isSet))): return isSet ? [("", entry.place)] : []
    case (.flag, _, .list): throw wrong("a list", "it must be true or false")
    case (.flag, _, .single): throw wrong("a text or a number", "it must be true or false")
    case (_, .repeated, .list(let elements)):
      return try elements.map { element throws(ParseFailure) in
        if let text = element.scalar.optionText { return (text, element.place) }
        throw fault(
          in: file, at: element.place, "\(entry.key) cannot contain true or false",
          "each value must be \(option.expectation)")
      }
    case (_, .repeated, .single):
      throw wrong("a single value", "write a list, such as \(entry.key) = [\"…\"]")
    case (_, _, .list): throw wrong("a list", expected)
    case (_, _, .single(let scalar)):
      guard let text = scalar.optionText else { throw wrong("true or false", expected) }
      return [(text, entry.place)]
    }
  }

  private func fault(
    in file: String, at place: TextPlace, _ cause: String, _ remedy: String
  ) -> ParseFailure {
    fault("\(ValueSource.configuration(path: file, place).text): \(cause)", remedy)
  }
}

extension TOMLDocument.Scalar {
  /// The value as on a command line; `nil` for a boolean, which only a flag can have.
  fileprivate var optionText: String? {
    switch self {
    case .text(let text): text
    case .integer(let number): String(number)
    case .truth: nil
    }
  }
}
