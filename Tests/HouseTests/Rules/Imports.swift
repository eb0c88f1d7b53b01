extension Rules {
  /// What each pure folder may import; the simulator may import every feature besides.
  static let pureImports: [(folder: String, allowed: [String])] = [
    ("Sources/Core", []),
    ("Sources/JSON", ["LinkCore"]),
    ("Sources/Health", ["LinkCore", "LinkJSON"]),
    ("Sources/Wire", ["LinkCore", "LinkJSON", "LinkHealth"]),
    ("Sources/Storage", ["LinkCore", "LinkJSON", "LinkHealth", "LinkWire"]),
    ("Sources/Firmware", []),
    ("Sources/VirtualBottle", ["BottleFirmware", "LinkCore", "LinkWire"]),
    ("Sources/Protocols", ["CZlib"]),
    ("Sources/Features", ["LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage"]),
    ("Sources/Tools/Audit", ["LinkCore", "LinkJSON", "LinkWire"]),
    ("Sources/ServerCore", ["LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage"]),
    (
      "Sources/Simulator",
      ["LinkCore", "LinkJSON", "LinkHealth", "LinkWire", "LinkStorage", "LinkServerCore"]
    ),
  ]

  /// Whether a file stands in a folder that holds values only.
  static func isPure(_ file: SourceFile) -> Bool {
    pureImports.contains { file.isUnder($0.folder) }
  }

  /// Pure folders import what they are built on and nothing that could do anything.
  ///
  /// So a feature imports neither the runtime nor another feature.
  static func pureImports(_ file: SourceFile, features: [String]) -> [Breach] {
    guard let room = pureImports.first(where: { file.isUnder($0.folder) }) else { return [] }
    // The world of a bottle plays its firmware.
    let firmware = ["BottleFirmware", "VirtualBottle"]
    let allowed = room.allowed + (room.folder == "Sources/Simulator" ? features + firmware : [])
    return imports(of: file).filter { !allowed.contains($0.module) }.map {
      let list = allowed.isEmpty ? "nothing" : allowed.joined(separator: ", ")
      return Breach(file, $0.line, "imports \($0.module); \(room.folder) may import \(list)")
    }
  }

  /// The folders of the modules that the manifest calls pure, as `Sources/Core`.
  static func pureRooms(in manifest: SourceFile) -> [String] {
    let lines = manifest.lines.drop { !$0.hasPrefix("let pure: ") }.prefix { $0 != "]" }
    let text = lines.joined(separator: " ")
    return text.split(separator: "at: \"").dropFirst().compactMap { part in
      part.split(separator: "\"").first.map { "Sources/" + String($0) }
    }
  }

  /// An adapter translates one outside thing; what is decided stands in a feature.
  static func adapterImports(_ file: SourceFile, features: [String]) -> [Breach] {
    guard file.isUnder("Sources/Adapters") else { return [] }
    return imports(of: file).filter { features.contains($0.module) }.map {
      Breach(file, $0.line, "an adapter imports the feature \($0.module)")
    }
  }

  /// The modules that the manifest places under `Features/`.
  static func features(in manifest: SourceFile) -> [String] {
    manifest.lines.compactMap { line in
      guard let place = line.firstRange(of: "\", at: \"Features/") else { return nil }
      return line[..<place.lowerBound].split(separator: "\"").last.map(String.init)
    }
  }

  static func imports(of file: SourceFile) -> [(line: Int, module: String)] {
    file.code.enumerated().compactMap { index, line in
      let words = line.split(separator: " ")
      guard let at = words.firstIndex(of: "import"), at + 1 < words.count else { return nil }
      // `import struct Module.Name` names the kind first and the member last.
      let kinds = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
      let path = kinds.contains(String(words[at + 1])) ? words.last : words[at + 1]
      return path?.split(separator: ".").first.map { (index, String($0)) }
    }
  }
}
