import HoldfastCore

extension CommandPath {
  /// Returns a note for each environment variable that looks like a misspelled variable of this
  /// command's options, or like one of an option that is only given on the command line.
  func misspelled(_ names: some Sequence<String>) -> [String] {
    guard let variables = command.variables else { return [] }
    let own = command.parameters.flatMap { option in
      [variables.name(for: option), variables.fileName(for: option, of: command)]
    }.compactMap { $0 }
    let others = CommandPath(root).tree.flatMap(\.command.parameters).compactMap(\.variable)
    let known = Set(own + others)
    let ends = own.map { String($0.dropFirst(variables.prefix.count)) }
    let typed = command.parameters.filter(\.isCommandLineOnly).map { option in
      (name: variables.spelling(of: option), label: option.label)
    }
    return names.filter { $0.hasPrefix(variables.prefix) && !known.contains($0) }.sorted()
      .compactMap { name in
        if let option = typed.first(where: { $0.name == name }) {
          return "$\(name) is not used; give \(option.label) on the command line"
        }
        // The names are compared without the prefix, which all of them share.
        let end = String(name.dropFirst(variables.prefix.count))
        return Spelling.nearest(to: end, among: ends).map {
          "$\(name) is not used; did you mean $\(variables.prefix)\($0)?"
        }
      }
  }
}

/// The environment of this process.
enum ProgramEnvironment {
  /// Returns the names of the variables with which this process was started.
  static func names() -> [String] {
    guard let bytes = try? TextFile.read("/proc/self/environ", atMost: 8 << 20) else { return [] }
    return bytes.split(separator: 0).compactMap { entry in
      String(validating: entry.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }
  }
}
