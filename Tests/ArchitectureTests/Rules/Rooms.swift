/// Which rooms belong to a feature, and which may not know any.
extension Rules {
  /// The beginnings of names that belong to one feature.
  static let featureNames = [
    "MessageStream", "ShopStream", "Shop", "StreamModel", "StreamFeature", "StreamSettings",
    "HealthRelay", "Relay", "HeldSocket", "SocketModel", "HeldFeature", "SessionModel",
    "SessionsFeature",
    "SessionServer", "SessionPolicy", "BottleLink", "HealthSync", "SyncModel", "SyncFeature",
  ]

  /// The folders whose files belong to one feature, wherever they stand under `Sources`.
  static let featureFolders: Set<Substring> = [
    "MessageStream", "HealthRelay", "HeldSocket", "Session", "BottleLink", "HealthSync", "Shop",
    "Relay", "Assistants", "Audit",
  ]

  /// The files that hold one line for each feature; CONTRIBUTING lists the same.
  ///
  /// The manifest and the fuzz targets are lists as well, and are not under `Sources`.
  static let lists = [
    "Sources/Core/Policy/Presets.swift",
    "Sources/Simulator/Kernel/SimulatedFeature.swift",
    "Sources/Tools/Backend/BackendConfiguration.swift",
    "Sources/Simulation/Simulation.swift",
    "Sources/SimulatorCommand/JudgedMachine.swift",
    "Sources/Tools/Command/Journal/JournaledMachines.swift",
    "Sources/Tools/Command/HoldfastCommand.swift",
    "Sources/Tools/Demo/Chapter.swift",
    "Sources/Holdfast/Exports.swift",
    "Sources/HoldfastSocket/Exports.swift",
  ]

  /// A shared room names no feature, except in the lists.
  static func featuresNamed(_ file: SourceFile) -> [Breach] {
    // The claim `shops` is a part of the format of tokens.
    guard file.isUnder("Sources"), !file.isUnder("Sources/Wire/Token"), !lists.contains(file.path),
      featureFolders.isDisjoint(with: file.path.split(separator: "/").dropLast())
    else { return [] }
    return file.code.indices.compactMap { line in
      let words = file.code[line].split { !($0.isLetter || $0.isNumber || $0 == "_") }
      guard let name = words.first(where: isFeatures) else { return nil }
      return Breach(file, line, "a shared room names `\(name)`; only \(lists.count) lists may")
    }
  }

  /// Whether a name begins with a feature's, as a word of its own: `Relay` and `RelayModel`, not
  /// `Relayed`.
  private static func isFeatures(_ word: Substring) -> Bool {
    featureNames.contains { name in
      guard word.hasPrefix(name) else { return false }
      return word.dropFirst(name.count).first.map { !$0.isLowercase } ?? true
    }
  }
}
