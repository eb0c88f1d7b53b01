import HoldfastJSON

extension Arguments {
  /// Returns the names of the options that have other values than in earlier arguments of the same
  /// command, in the order of their declaration. Texts that mean the same are the same value.
  public func changedOptions(since earlier: Arguments) -> [String] {
    parameters.filter { $0.kind != .operand && texts(of: $0) != earlier.texts(of: $0) }
      .map(\.name)
  }

  /// Takes over the values of some options from other arguments of the same command.
  public mutating func adopt(_ names: some Sequence<String>, of other: Arguments) {
    for name in names {
      let label = "--\(name)"
      (values[label], sources[label]) = (other.values[label], other.sources[label])
    }
  }

  private func texts(of option: Declaration) -> [String] {
    let texts = values[option.label] ?? option.fallback.map { [$0] } ?? []
    return texts.map { option.canonical($0) ?? $0 }
  }
}

extension Invocation {
  /// Returns this invocation with the arguments for the same command line, but with the environment
  /// and the files as they are now.
  ///
  /// - Throws: The failure of `Parser.parse`. It contains no value of an option.
  public func reread() throws(CommandFailure) -> Invocation {
    var call = self
    call.arguments = try again()
    return call
  }

  /// Returns a failure with the place of the values that it concerns, if they come from a variable
  /// or a file: those of the options whose labels it contains.
  public func located(_ failure: CommandFailure) -> CommandFailure {
    guard failure.code == .usage else { return failure }
    let words = failure.line.split { !($0.isLetter || $0.isNumber || $0 == "-") }.map(String.init)
    let sources = words.compactMap { word in arguments.sources[word].map { (word, $0) } }
    var failure = failure
    for (_, source) in sources {
      guard case .configuration = source else { continue }
      failure.cause = "\(source.text): \(failure.cause)"
      return failure
    }
    if let (label, source) = sources.first(where: { $0.1 != .commandLine }) {
      failure.cause += " (\(label) is \(source.text))"
    }
    return failure
  }

  /// Prints each option with its value and its source, as a table or, with `--json`, as objects.
  ///
  /// Values of secrets are left out.
  package func printOptions() {
    let options = arguments.parameters.filter {
      $0.kind != .operand && $0.name != Shared.check.declaration.name
    }
    guard !self[Shared.json] else {
      for option in options {
        console.object { arguments.write(option, to: &$0) }
      }
      return
    }
    var table = Table("OPTION", "VALUE", "FROM")
    for option in options {
      table.row(
        option.name, arguments.shown(option), arguments.sources[option.label]?.text ?? "default")
    }
    console.table(table)
  }
}

extension Arguments {
  /// Returns the value of an option for people.
  fileprivate func shown(_ option: Declaration) -> String {
    guard let texts = values[option.label] else {
      return option.fallback ?? option.usual ?? (option.kind == .flag ? "false" : "none")
    }
    if option.isSecret { return "(hidden)" }
    return option.kind == .flag ? "\(!texts.isEmpty)" : texts.joined(separator: " ")
  }

  /// Writes the members of an option: its name, its value unless it is a secret, and its source. A
  /// default that no text means is `usual` instead of a value.
  fileprivate func write(_ option: Declaration, to writer: inout JSONWriter) {
    writer.entry("option", option.name)
    let texts = values[option.label]
    if option.isSecret, texts != nil {
      writer.entry("isSecret", true)
    } else if option.kind == .flag {
      writer.entry("value", texts?.isEmpty == false)
    } else if case .repeated = option.count {
      writer.entry("value", texts ?? [])
    } else if let text = texts?.last ?? option.fallback {
      writer.entry("value", text)
    } else if let usual = option.usual {
      writer.entry("usual", usual)
    }
    sources[option.label].write(to: &writer)
  }
}

extension ValueSource? {
  /// Writes the members of a source. `nil` stands for the default.
  fileprivate func write(to writer: inout JSONWriter) {
    switch self {
    case nil: writer.entry("from", "default")
    case .commandLine: writer.entry("from", "command line")
    case .variable(let name):
      writer.entry("from", "environment")
      writer.entry("variable", name)
    case .variableFile(let name, let path):
      writer.entry("from", "environment")
      writer.entry("variable", name)
      writer.entry("file", path)
    case .configuration(let path, let place):
      writer.entry("from", "file")
      writer.entry("file", path)
      writer.entry("line", place.line)
      writer.entry("column", place.column)
    }
  }
}
